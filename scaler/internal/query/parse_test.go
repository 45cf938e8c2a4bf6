package query

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// one and several are what a caller may see.
var (
	one     = []Source{{Name: "mail"}}
	several = []Source{{Name: "orders"}, {Name: "mail"}, {Name: "old", NoLookahead: true}}
)

// defaults is the Query of empty metadata with one source, changed by edit.
func defaults(edit func(*Query)) Query {
	q := Query{
		Source: "mail", Metric: MetricOutstanding, Target: 10, ActiveWhileRunning: true,
		Name: "queue-mail--all--outstanding-wooui7zd65",
	}
	if edit != nil {
		edit(&q)
	}
	return q
}

func TestParseReadsEveryDocumentedKey(t *testing.T) {
	got, err := Parse(map[string]string{
		"source": "mail", "queue": "invoices", "metric": "ready", "target": "2.5", "activation": "3",
		"activeWhileRunning": "false", "linger": "90s", "lookahead": "5m", "max": "1000", "name": "mine", "token": "ldm_a_b",
	}, several)
	if err != nil {
		t.Fatal(err)
	}
	want := Query{
		Source: "mail", Queues: "invoices", Metric: MetricReady, Target: 2.5, Activation: 3, Max: 1000,
		Linger: 90 * time.Second, Lookahead: 5 * time.Minute, Name: "mine",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseGivesDefaultsForEmptyMetadataWithOneSource(t *testing.T) {
	for _, metadata := range []map[string]string{nil, {}} {
		got, err := Parse(metadata, one)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(defaults(nil), got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	target := func(v float64) func(*Query) { return func(q *Query) { q.Target = v } }
	activation := func(v float64) func(*Query) { return func(q *Query) { q.Activation = v } }
	linger := func(v time.Duration) func(*Query) { return func(q *Query) { q.Linger = v } }
	busy := func(v bool) func(*Query) { return func(q *Query) { q.ActiveWhileRunning = v } }
	type M = map[string]string
	for name, tc := range map[string]struct {
		metadata M
		want     func(*Query)
	}{
		// Case 25: the spellings of a number that have one meaning.
		"target with spaces":        {M{"target": " 5 "}, target(5)},
		"target with a newline":     {M{"target": "5\n"}, target(5)},
		"target with a fraction":    {M{"target": "5.0"}, target(5)},
		"target with an exponent":   {M{"target": "1e3"}, target(1000)},
		"target with a sign":        {M{"target": "+5"}, target(5)},
		"least target":              {M{"target": "0.001"}, target(0.001)},
		"greatest target":           {M{"target": "9e15"}, target(9e15)},
		"half a job":                {M{"target": "0.5"}, target(0.5)}, // case 22
		"a tenth of a job":          {M{"target": "0.1"}, target(0.1)}, // case 23
		"activation zero":           {M{"activation": "0"}, nil},
		"activation minus zero":     {M{"activation": "-0"}, nil},
		"activation small":          {M{"activation": "0.0001"}, activation(0.0001)},
		"synonym of target":         {M{"targetQueueDepth": "7"}, target(7)},
		"synonym of activation":     {M{"activationQueueDepth": "7"}, activation(7)},
		"synonyms that agree":       {M{"target": "7", "targetQueueDepth": "7.0"}, target(7)},
		"target from env":           {M{"targetFromEnv": "7"}, target(7)},
		"plain key wins":            {M{"targetFromEnv": "nonsense", "target": "8"}, target(8)},
		"synonym from env":          {M{"activationQueueDepthFromEnv": "4"}, activation(4)},
		"true in capitals":          {M{"activeWhileRunning": "TRUE"}, nil},
		"false in capitals":         {M{"activeWhileRunning": " False "}, busy(false)},
		"linger in Go's form":       {M{"linger": "1h30m"}, linger(90 * time.Minute)},
		"linger in seconds":         {M{"linger": "90"}, linger(90 * time.Second)},
		"linger in parts of one":    {M{"linger": "0.29"}, linger(290 * time.Millisecond)},
		"linger of a day":           {M{"linger": "24h"}, linger(24 * time.Hour)},
		"linger of a day in s":      {M{"linger": "86400"}, linger(24 * time.Hour)},
		"linger zero":               {M{"linger": "0"}, nil},
		"max":                       {M{"max": "0.5"}, func(q *Query) { q.Max = 0.5 }},
		"name":                      {M{"name": "s1-x"}, func(q *Query) { q.Name = "s1-x" }},
		"source":                    {M{"source": " mail "}, nil},
		"source from env":           {M{"sourceFromEnv": "mail"}, nil},
		"metric spelled out":        {M{"metric": "outstanding"}, nil},
		"all queues as a star":      {M{"queue": "*"}, nil},
		"all queues as many a star": {M{"queue": "mail, ** "}, nil},
		// Case 65: the token is for the interceptor. Case 66: TriggerAuthentication's TLS material, and KEDA's own keys.
		"token": {M{"token": "ldm_id_secret", "tokenFromEnv": ""}, nil},
		"KEDA's own keys": {M{
			"scalerAddress": "leadsman:50051", "enableTLS": "true", "unsafeSsl": "", "caCert": "x", "tlsCertFile": "x",
			"tlsClientCert": "x", "tlsClientKey": "x", "caCertFromEnv": "x",
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(tc.metadata, one)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(defaults(tc.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseKnowsEveryMetric(t *testing.T) {
	for _, m := range []Metric{
		MetricReady, MetricRunning, MetricOutstanding, MetricScheduled, MetricOldest, MetricUtilization,
	} {
		got, err := Parse(map[string]string{"metric": string(m), "queue": "a"}, one)
		if err != nil {
			t.Fatal(err)
		}
		want := defaults(func(q *Query) { q.Metric, q.Queues, q.Name = m, "a", "queue-mail--a--"+string(m) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// Case 4: two triggers of one object differ by their metadata alone.
func TestParseKeepsTriggersOfOneObjectApart(t *testing.T) {
	state := map[Query]int{}
	for queue, depth := range map[string]int{"a": 3, "b": 70} {
		q, err := Parse(map[string]string{"queue": queue}, one)
		if err != nil {
			t.Fatal(err)
		}
		state[q] = depth
	}
	if len(state) != 2 {
		t.Errorf("two triggers share one state: %v", state)
	}
}

func TestParseGivesEqualQueriesForEqualMeaning(t *testing.T) {
	type M = map[string]string
	for name, pair := range map[string][2]M{
		"defaults spelled out": {{}, {
			"source": "mail", "metric": "outstanding", "target": "10", "activation": "0", "activeWhileRunning": "true",
			"linger": "0s", "lookahead": "0",
		}},
		"order and doubles":    {{"queue": "b,a"}, {"queue": " a , b ,\n\ta"}},
		"escapes":              {{"queue": `a\,b,c`}, {"queue": `c,a\,b`}},
		"runs of wildcards":    {{"queue": `a*?**?`}, {"queue": `a??*`}},
		"numbers":              {{"target": "1e1", "max": "100"}, {"max": "1e2"}},
		"durations":            {{"linger": "0.29", "lookahead": "3600"}, {"linger": "290ms", "lookahead": "1h"}},
		"synonyms":             {{"targetQueueDepth": "3"}, {"target": "3"}},
		"derived name given":   {{"queue": "a"}, {"queue": "a", "name": "queue-mail--a--outstanding"}},
		"tokens are no part":   {{"token": "x"}, {"token": "y"}},
		"KEDA's keys are none": {{"scalerAddress": "a:1"}, {"scalerAddress": "b:2"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, errA := Parse(pair[0], one)
			b, errB := Parse(pair[1], one)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if a != b {
				t.Error(cmp.Diff(a, b))
			}
		})
	}
}

// Case 26: the target is what one replica handles and the only number that shapes the metric; replicas are no part.
// The name stays when it or any other tunable changes.
func TestParseDerivesTheNameFromSourceQueuesAndMetricOnly(t *testing.T) {
	base := map[string]string{"queue": "a"}
	want, err := Parse(base, one)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"target": "99", "activation": "5", "activeWhileRunning": "false", "linger": "1m", "lookahead": "1m", "max": "4",
	} {
		metadata := maps.Clone(base)
		metadata[key] = value
		got, err := Parse(metadata, one)
		if err != nil {
			t.Fatal(err)
		}
		if got.Name != want.Name || got == want {
			t.Errorf("%s: name %q and the same query: %v", key, got.Name, got == want)
		}
	}
}

func TestDescribeSaysWhatIsAsked(t *testing.T) {
	long := strings.Repeat("é", 40)
	for _, tc := range []struct {
		metadata map[string]string
		want     string
	}{
		{nil, "ready+running of all queues in source mail"},
		{map[string]string{"queue": "mail-*"}, "ready+running of mail-* in source mail"},
		{map[string]string{"queue": "a,b", "metric": "ready"}, "ready of a, b in source mail"},
		{map[string]string{"queue": "e,d,c,b,a", "metric": "oldest"}, "age of the oldest ready job of a, b, c and 2 more in source mail"},
		{map[string]string{"queue": "a", "metric": "utilization"}, "running/capacity of a in source mail"},
		{map[string]string{"queue": long}, "ready+running of " + long[:60] + "… in source mail"},
		{
			map[string]string{"queue": "a", "lookahead": "90"},
			"ready+running of a in source mail, jobs due within 1m30s included",
		},
	} {
		q, err := Parse(tc.metadata, one)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Describe(); got != tc.want {
			t.Errorf("Describe() = %q, want %q", got, tc.want)
		}
	}
}

func TestParseRefusesAnActivationThatCountingNeverReaches(t *testing.T) {
	t.Parallel()
	limited := []Source{{Name: "mail", CountLimit: 100}}
	if _, err := Parse(map[string]string{"activation": "99"}, limited); err != nil {
		t.Errorf("activation 99 below a countLimit of 100: %v", err)
	}
	_, err := Parse(map[string]string{"activation": "100"}, limited)
	if err == nil || !strings.Contains(err.Error(), "countLimit, 100") {
		t.Errorf("activation 100 with a countLimit of 100: %v, want an error that names the limit", err)
	}
	if _, err := Parse(map[string]string{"activation": "1e9"}, []Source{{Name: "mail"}}); err != nil {
		t.Errorf("activation 1e9 with exact counts: %v", err)
	}
}
