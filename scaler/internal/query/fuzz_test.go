package query

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// metadataOf writes q as metadata that means the same.
func metadataOf(q Query) map[string]string {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	metadata := map[string]string{
		"source": q.Source, "queue": q.Queues, "metric": string(q.Metric), "target": number(q.Target),
		"activation": number(q.Activation), "activeWhileRunning": strconv.FormatBool(q.ActiveWhileRunning),
		"linger": q.Linger.String(), "lookahead": q.Lookahead.String(), "max": number(q.Max), "name": q.Name,
	}
	if q.Queues == "" {
		delete(metadata, "queue")
	}
	if q.Max == 0 {
		delete(metadata, "max")
	}
	return metadata
}

// FuzzParse parses metadata given as lines of key=value, and a queue that may hold anything.
func FuzzParse(f *testing.F) {
	f.Add("", "")
	f.Add("source=mail\nmetric=ready\ntarget= 5.0 \nactivation=1e3\nmax=7", "a,b")
	f.Add("linger=90\nlookahead=1h30m\nactiveWhileRunning=FALSE\nname=s1-x", `mail-*,a\,b,??*\\`)
	f.Add("targetQueueDepth=5\ntarget=6\nactivationQueueDepthFromEnv=-0", "日本")
	f.Add("tokn=x\nurl=y\nscalerAddress=z\nqueueName=a\ntoken=ldm_id_hunter2", "a,,b\\")
	f.Add("source=old\nlookahead=5m\ntarget=NaN", "*")
	f.Fuzz(func(t *testing.T, lines, queue string) {
		metadata := map[string]string{}
		for line := range strings.Lines(lines) {
			key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
			metadata[key] = value
		}
		if queue != "" {
			metadata["queue"] = queue
		}
		const token = "hunter2secret"
		metadata["token"], metadata["tokenFromEnv"] = token, token
		q, err := Parse(metadata, several)
		if err != nil {
			checkFault(t, q, err, token, lines+queue)
			return
		}
		checkQuery(t, q)
	})
}

func checkFault(t *testing.T, q Query, err error, token, input string) {
	var fault *Error
	if q != (Query{}) || !errors.As(err, &fault) {
		t.Errorf("query %+v with error %#v", q, err)
	}
	if text := err.Error(); len(text) > 8<<10 || !utf8.ValidString(text) || !strings.Contains(input, token) && strings.Contains(text, token) {
		t.Errorf("unfit to be sent: %d bytes: %.9000s", len(text), text)
	}
}

func checkQuery(t *testing.T, q Query) {
	if !validName(q.Name) || !SameName("s0-"+q.Name, q.Name) {
		t.Errorf("metric name %q", q.Name)
	}
	if !(q.Target >= minNumber && q.Target <= maxNumber && q.Activation >= 0 && q.Activation <= maxNumber &&
		q.Max >= 0 && q.Max <= maxNumber && q.Linger >= 0 && q.Linger <= maxDuration && q.Lookahead >= 0 && q.Lookahead <= maxDuration) {
		t.Errorf("out of bounds: %+v", q)
	}
	again, err := Parse(metadataOf(q), several)
	if err != nil || again != q {
		t.Errorf("read back with error %v: %s", err, cmp.Diff(q, again))
	}
	if names, ok := q.Names(); ok {
		for _, name := range names {
			if !q.Match(name) {
				t.Errorf("%q does not match its own %q", q.Queues, name)
			}
		}
	}
	if q.Describe() == "" {
		t.Error("nothing to describe")
	}
}

// FuzzMetricName holds two names of anything against each other.
func FuzzMetricName(f *testing.F) {
	f.Add("mail", "team/mail", uint8(0), "mail", "Team/Mail", uint8(0))
	f.Add("a-b", "c", uint8(1), "a", "b-c", uint8(1))
	f.Add("a--b", "", uint8(2), "a--b", "all", uint8(2))
	f.Add("a", "b--ready", uint8(3), "a--b", "ready", uint8(3))
	f.Add(strings.Repeat("a-", 40), "日本", uint8(4), strings.Repeat("a-", 40), "日", uint8(5))
	metrics := []Metric{MetricReady, MetricRunning, MetricOutstanding, MetricScheduled, MetricOldest, MetricUtilization}
	f.Fuzz(func(t *testing.T, source, queues string, metric uint8, source2, queues2 string, metric2 uint8) {
		m, m2 := metrics[int(metric)%len(metrics)], metrics[int(metric2)%len(metrics)]
		a, b := metricName(source, queues, m), metricName(source2, queues2, m2)
		if !validName(a) || !validName(b) {
			t.Errorf("names %q and %q", a, b)
		}
		if same := source == source2 && queues == queues2 && m == m2; same != (a == b) {
			t.Errorf("(%q %q %s) is %q and (%q %q %s) is %q", source, queues, m, a, source2, queues2, m2, b)
		}
	})
}
