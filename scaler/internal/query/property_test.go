package query

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var (
	// aName draws queue names that Parse takes, rich in what needs an escape and in what slugs alike.
	aName = rapid.OneOf(
		rapid.StringMatching(`[aA/_,*?\\ é-]{1,6}`),
		rapid.StringMatching(`[a-z0-9-]{1,70}`),
		rapid.StringMatching(`[^\x00-\x1f\x7f-\x9f]{1,30}`),
	).Filter(func(s string) bool { return s == strings.Trim(s, whiteSpace) && unfit(s) == "" })
	aSource = rapid.StringMatching(`[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`)
	aMetric = rapid.SampledFrom([]Metric{
		MetricReady, MetricRunning, MetricOutstanding, MetricScheduled, MetricOldest, MetricUtilization,
	})
)

// escape writes a name so that it stands for itself.
func escape(name string) string {
	return strings.NewReplacer(`\`, `\\`, `,`, `\,`, `*`, `\*`, `?`, `\?`).Replace(name)
}

func TestExactNamesComeBackAndMatchOnlyThemselves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(aName, 1, 6, rapid.ID).Draw(t, "names")
		other := aName.Draw(t, "other")
		escaped := make([]string, len(names))
		for i, name := range names {
			escaped[i] = escape(name)
		}
		q := parseWith(t, map[string]string{"queue": strings.Join(escaped, " , ")})
		got, ok := q.Names()
		// The canonical order is that of the escaped names.
		if diff := cmp.Diff(slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(got))); diff != "" || !ok {
			t.Fatalf("exact %v %s", ok, diff)
		}
		for _, name := range names {
			if !q.Match(name) {
				t.Fatalf("%q does not match %q", q.Queues, name)
			}
		}
		if q.Match(other) != slices.Contains(names, other) {
			t.Fatalf("%q and %q: %v", q.Queues, other, q.Match(other))
		}
	})
}

// TestMatchAgreesWithTheDefinition compares Match with the plain recursive meaning of a glob.
func TestMatchAgreesWithTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		glob := rapid.StringMatching(`[abé*?]{1,8}`).Draw(t, "glob")
		name := rapid.StringMatching(`[abé]{1,8}`).Draw(t, "name")
		q := parseWith(t, map[string]string{"queue": glob})
		if got, want := q.Match(name), means([]rune(glob), []rune(name)); got != want {
			t.Fatalf("%q (%q) and %q: %v, want %v", glob, q.Queues, name, got, want)
		}
	})
}

func means(glob, name []rune) bool {
	switch {
	case len(glob) == 0:
		return len(name) == 0
	case glob[0] == '*':
		return means(glob[1:], name) || len(name) > 0 && means(glob, name[1:])
	default:
		return len(name) > 0 && (glob[0] == '?' || glob[0] == name[0]) && means(glob[1:], name[1:])
	}
}

// Case 2.
func TestMetricNamesAreValidAndDistinct(t *testing.T) {
	type triple struct {
		source, queues string
		metric         Metric
	}
	draw := rapid.Custom(func(t *rapid.T) triple {
		queues := ""
		if rapid.Bool().Draw(t, "named") {
			queues = parseWith(t, map[string]string{"queue": escape(aName.Draw(t, "name"))}).Queues
		}
		return triple{aSource.Draw(t, "source"), queues, aMetric.Draw(t, "metric")}
	})
	rapid.Check(t, func(t *rapid.T) {
		seen := map[string]triple{}
		for _, asked := range rapid.SliceOfN(draw, 2, 20).Draw(t, "asked") {
			name := metricName(asked.source, asked.queues, asked.metric)
			if !validName(name) {
				t.Fatalf("%+v has the name %q", asked, name)
			}
			if first, ok := seen[name]; ok && first != asked {
				t.Fatalf("%+v and %+v share the name %q", first, asked, name)
			}
			seen[name] = asked
			if !SameName(name, name) || !SameName("s3-"+strings.ToUpper(name), name) {
				t.Fatalf("%q is not the same as itself", name)
			}
		}
	})
}

func TestParseReadsBackWhatAQuerySays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64Range(minNumber, maxNumber)
		span := rapid.Int64Range(0, int64(maxDuration))
		want := Query{
			Source: "mail", Queues: parseWith(t, map[string]string{"queue": aName.Filter(escapes).Draw(t, "queue")}).Queues,
			Metric: aMetric.Draw(t, "metric"), Target: number.Draw(t, "target"), Activation: number.Draw(t, "activation"),
			Max: number.Draw(t, "max"), ActiveWhileRunning: rapid.Bool().Draw(t, "activeWhileRunning"),
			Linger: time.Duration(span.Draw(t, "linger")), Lookahead: time.Duration(span.Draw(t, "lookahead")),
		}
		want.Name = metricName(want.Source, want.Queues, want.Metric)
		if got := parseWith(t, metadataOf(want)); got != want {
			t.Fatal(cmp.Diff(want, got))
		}
	})
}

// escapes tells whether a text is a list of patterns.
func escapes(list string) bool { _, fault := canonical(list); return fault == "" }

func parseWith(t *rapid.T, metadata map[string]string) Query {
	q, err := Parse(metadata, one)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
