package query

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParseRejects(t *testing.T) {
	type M = map[string]string
	const (
		wantTarget = "; give a decimal number from 0.001 to 9e15, such as 10"
		wantActive = "; give a decimal number from 0 to 9e15, such as 5"
		wantMax    = "; give a decimal number from 0.001 to 9e15, such as 1000, or remove the key for no cap"
		wantSpan   = "; give a duration from 0s to 24h, such as 90s or 5m, or a number of seconds"
		wantMetric = "; give one of ready, running, outstanding, scheduled, oldest, utilization"
		wantName   = "; give at most 63 lower-case letters, digits and inner dashes, or remove the key for a derived name"
		wantQueue  = "; give a queue name, a comma-separated list, or globs such as mail-*, or remove the key for all queues"
		onServer   = `connections live on the server and a trigger cannot bring its own; remove the key and name a configured source with "source"`
		hidden     = "the value (not shown, it may be a secret)"
	)
	for _, tc := range []struct {
		key, value string
		want       string // without `metadata key "…": `
	}{
		// Case 25.
		{"target", "0", `"0" is too small` + wantTarget},
		{"target", "-5", `"-5" is too small` + wantTarget},
		{"target", "", `is empty` + wantTarget},
		{"target", " \t\r\n", `is empty` + wantTarget},
		{"target", "0.0004", `"0.0004" is too small` + wantTarget},
		{"target", "1e-400", `"1e-400" is too small` + wantTarget},
		{"target", "9.1e15", `"9.1e15" is too great` + wantTarget},
		{"target", "1e400", `"1e400" is too great` + wantTarget},
		{"target", "-1e400", `"-1e400" is too small` + wantTarget},
		{"target", "NaN", `"NaN" is no decimal number` + wantTarget},
		{"target", "Inf", `"Inf" is no decimal number` + wantTarget},
		{"target", "0x10", `"0x10" is no decimal number` + wantTarget},
		{"target", "1_000", `"1_000" is no decimal number` + wantTarget},
		{"target", "1,5", `"1,5" is no decimal number` + wantTarget},
		{"target", "500m", `"500m" is no decimal number` + wantTarget},
		{"target", "1e", `"1e" is no decimal number` + wantTarget},
		{"target", "ten", `"ten" is no decimal number` + wantTarget},
		{"targetQueueDepth", "0", `"0" is too small` + wantTarget},
		{"targetFromEnv", "x", `"x" is no decimal number` + wantTarget},
		{"activation", "-1", `"-1" is too small` + wantActive},
		{"activation", "", `is empty` + wantActive},
		{"activationQueueDepth", "1e16", `"1e16" is too great` + wantActive},
		{"max", "0", `"0" is too small` + wantMax},
		{"max", "", `is empty` + wantMax},
		{"activeWhileRunning", "yes", `"yes" is neither true nor false; give true or false`},
		{"activeWhileRunning", "1", `"1" is neither true nor false; give true or false`},
		{"activeWhileRunning", "", `is empty; give true or false`},
		{"linger", "-1s", `"-1s" is negative` + wantSpan},
		{"linger", "-0.5", `"-0.5" is negative` + wantSpan},
		{"linger", "-1e400", `"-1e400" is negative` + wantSpan},
		{"linger", "25h", `"25h" is longer than 24h` + wantSpan},
		{"linger", "86401", `"86401" is longer than 24h` + wantSpan},
		{"linger", "1e400", `"1e400" is longer than 24h` + wantSpan},
		{"linger", "1d", `"1d" is no duration` + wantSpan},
		{"linger", "0x1s", `"0x1s" is no duration` + wantSpan},
		{"lookahead", "48h", `"48h" is longer than 24h` + wantSpan},
		{"lookahead", "", `is empty` + wantSpan},
		{"metric", "redy", `"redy" is no metric` + wantMetric},
		{"metric", "Ready", `"Ready" is no metric` + wantMetric},
		{"metric", "", `is empty` + wantMetric},
		{"name", "Mine", `"Mine" is no metric name` + wantName},
		{"name", "a/b", `"a/b" is no metric name` + wantName},
		{"name", "-a", `"-a" is no metric name` + wantName},
		{"name", "a-", `"a-" is no metric name` + wantName},
		{"name", strings.Repeat("a", 64), `"` + strings.Repeat("a", 48) + `…" is no metric name` + wantName},
		{"name", "", `is empty` + wantName},
		{"queue", "", `is empty` + wantQueue},
		{"queueFromEnv", " ", `is empty` + wantQueue},
		{"queue", "a,,b", `holds an empty name, before, after or between commas` + wantQueue},
		{"queue", "a,", `holds an empty name, before, after or between commas` + wantQueue},
		{"queue", ",", `holds an empty name, before, after or between commas` + wantQueue},
		{"queue", `a\b`, `"a\\b" holds a backslash before none of , * ? \ (write \\ for a backslash)` + wantQueue},
		{"queue", `a\`, `"a\\" holds a backslash before none of , * ? \ (write \\ for a backslash)` + wantQueue},
		{"queue", "a\x06b", `"a\x06b" holds a control character` + wantQueue},
		{"queue", "a\xffb", `"a\xffb" is not UTF-8` + wantQueue},
		// Case 72: a long name, and one of a megabyte.
		{"queue", strings.Repeat("a", 513), `"` + strings.Repeat("a", 48) + `…" is longer than 512 bytes` + wantQueue},
		{"queue", strings.Repeat("a", 1<<20), `"` + strings.Repeat("a", 48) + `…" is longer than 512 bytes` + wantQueue},
		{"queue", strings.Repeat("a,", 100) + "b", `lists more than 100 queues` + wantQueue},
		{"source", "", `is empty; give the name of a configured source`},
		{"source", "mial", `"mial" is no source that this caller may read; did you mean "mail"? known: mail, old, orders`},
		{"source", "Mail", `"Mail" is no source that this caller may read; did you mean "mail"? known: mail, old, orders`},
		{"source", "nowhere", `"nowhere" is no source that this caller may read; known: mail, old, orders`},
		// Case 67: whoever writes the trigger does not choose the host.
		{"url", "postgres://u:hunter2@evil/db", onServer},
		{"host", "evil", onServer},
		{"connection", "x", onServer},
		{"dsn", "x", onServer},
		{"address", "x", onServer},
		{"password", "hunter2", onServer},
		{"connectionFromEnv", "x", onServer},
		{"redisAddress", "x", onServer},
		{"userName", "x", onServer},
		{"dbName", "x", onServer},
		// Case 28: a secret in the wrong place is not shown.
		{"source", "postgres://u:hunter2@db/x", hidden + ` is no source that this caller may read; known: mail, old, orders`},
		{"target", "host=db password=hunter2", hidden + ` is no decimal number` + wantTarget},
		{"name", "ldm_keda_hunter2", hidden + ` is no metric name` + wantName},
		{"queue", "postgres://u:hunter2@db/x", `looks like a connection string, and connections live on the server` + wantQueue},
		{"tokn", "ldm_keda_hunter2", `is unknown; did you mean "token"?`},
		// Keys that are slips of the pen, or come from other scalers.
		{"qeue", "a", `is unknown; did you mean "queue"?`},
		{"Queue", "a", `is unknown; did you mean "queue"?`},
		{"queueName", "a", `is unknown; did you mean "queue"?`},
		{"queueNameFromEnv", "a", `is unknown; did you mean "queueFromEnv"?`},
		{"listLength", "a", `is unknown; did you mean "target"?`},
		{"activationListLength", "a", `is unknown; did you mean "activation"?`},
		{"metricName", "a", `is unknown; did you mean "name"?`},
		{"activateWhileRuning", "a", `is unknown; did you mean "activeWhileRunning"?`},
		{"lookAheadFromEnv", "a", `is unknown; did you mean "lookaheadFromEnv"?`},
		{"colour", "a", `is unknown; known are source, queue, metric, target, activation, activeWhileRunning, linger, lookahead, max, name, token`},
		{"FromEnv", "a", `is unknown; known are source, queue, metric, target, activation, activeWhileRunning, linger, lookahead, max, name, token`},
	} {
		t.Run(fmt.Sprintf("%s=%.20s", tc.key, tc.value), func(t *testing.T) {
			metadata := M{tc.key: tc.value}
			if tc.key != "source" {
				metadata["source"] = "mail"
			}
			got, err := Parse(metadata, several)
			if got != (Query{}) {
				t.Errorf("a query with the error: %+v", got)
			}
			if want := fmt.Sprintf("metadata key %q: %s", tc.key, tc.want); err == nil || err.Error() != want {
				t.Errorf("error\n     %v\nwant %s", err, want)
			}
			var fault *Error
			if !errors.As(err, &fault) || fault.Key != tc.key {
				t.Errorf("error %#v does not name %q", err, tc.key)
			}
		})
	}
}

// Case 5: empty metadata is an error, no panic and no silent choice, unless there is just one source.
func TestParseNamesTheKeyWhenTheSourceIsNotClear(t *testing.T) {
	var many []Source
	for i := range 25 {
		many = append(many, Source{Name: fmt.Sprintf("s%02d", 24-i)})
	}
	for _, tc := range []struct {
		sources []Source
		want    string
	}{
		{several, `metadata key "source": is missing and there are several sources, so name one; known: mail, old, orders`},
		{nil, `metadata key "source": no source is configured that this caller may read; add one to the server's configuration, or widen the grant`},
		{many, `metadata key "source": is missing and there are several sources, so name one; known: s00, s01, s02, s03, s04, s05, s06, s07, s08, s09 and 15 more`},
	} {
		if _, err := Parse(nil, tc.sources); err == nil || err.Error() != tc.want {
			t.Errorf("error\n     %v\nwant %s", err, tc.want)
		}
	}
	if _, err := Parse(map[string]string{"source": "mail"}, nil); err == nil || !strings.Contains(err.Error(), `"mail" is no source`) {
		t.Errorf("error %v for a source when there is none", err)
	}
}

func TestParseRejectsLookaheadWhereTheSourceHasNone(t *testing.T) {
	_, err := Parse(map[string]string{"source": "old", "lookahead": "5m"}, several)
	const want = `metadata key "lookahead": source "old" cannot count jobs that are due soon; remove the key`
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if _, err := Parse(map[string]string{"source": "old", "lookahead": "0s"}, several); err != nil {
		t.Errorf("lookahead of nothing: %v", err)
	}
}

func TestParseRejectsSynonymsThatDiffer(t *testing.T) {
	for _, tc := range []struct {
		metadata map[string]string
		want     string
	}{
		{
			map[string]string{"target": "5", "targetQueueDepth": "6"},
			`metadata key "target": differs from "targetQueueDepth", which means the same; keep one of them`,
		},
		{
			map[string]string{"activation": "5", "activationQueueDepthFromEnv": "6"},
			`metadata key "activation": differs from "activationQueueDepthFromEnv", which means the same; keep one of them`,
		},
	} {
		if _, err := Parse(tc.metadata, one); err == nil || err.Error() != tc.want {
			t.Errorf("error %v, want %s", err, tc.want)
		}
	}
}

func TestParseReportsAllFaultsInAStableOrder(t *testing.T) {
	metadata := map[string]string{
		"zz": "1", "url": "x", "max": "0", "target": "0", "queue": "", "source": "nowhere", "token": "ldm_keda_hunter2",
	}
	wantKeys := []string{"source", "queue", "target", "max", "url", "zz"}
	var first string
	for range 50 {
		_, err := Parse(metadata, one)
		var joined interface{ Unwrap() []error }
		if !errors.As(err, &joined) {
			t.Fatalf("error %v holds no errors", err)
		}
		if got := len(joined.Unwrap()); got != len(wantKeys) {
			t.Fatalf("%d errors, want %d: %v", got, len(wantKeys), err)
		}
		for i, err := range joined.Unwrap() {
			var fault *Error
			if !errors.As(err, &fault) || fault.Key != wantKeys[i] {
				t.Fatalf("error %d is %v, want one of %q", i, err, wantKeys[i])
			}
		}
		if first == "" {
			first = err.Error()
		}
		if err.Error() != first {
			t.Fatalf("the order changed:\n%s\n%s", first, err)
		}
	}
	if strings.Contains(first, "hunter2") {
		t.Errorf("the token shows: %s", first)
	}
}

func TestParseKeepsTheErrorSmall(t *testing.T) {
	metadata := map[string]string{strings.Repeat("k", 1<<16): "x", "postgres://u:hunter2@h": "x"}
	for i := range 10_000 {
		metadata[fmt.Sprintf("colour%d", i)] = "x"
	}
	_, err := Parse(metadata, one)
	if err == nil || len(err.Error()) > 4096 || !strings.HasSuffix(err.Error(), "; and 9994 more unknown keys") {
		t.Errorf("an error of %d bytes: %.5000v", len(err.Error()), err)
	}
	_, err = Parse(map[string]string{"postgres://u:hunter2@h": "x"}, one)
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %v shows a password in a key", err)
	}
}
