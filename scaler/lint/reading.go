package lint

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/leadsman/leadsman/internal/kube"
	"github.com/leadsman/leadsman/scaler/internal/query"
	"github.com/leadsman/leadsman/storage/driver"
)

// A Reading is what a trigger of type metrics-api or prometheus asks of leadsman, as KEDA reads it: for those who say what it
// would be told.
type Reading struct {
	// Ours tells whether leadsman answers, itself or through Prometheus; the rest is empty where it does not.
	Ours bool
	// URL is where KEDA asks /api/scaler, without a token that is in it; "" where it reads series.
	URL string
	// Location is where in the answer the value is; Target and Activation are KEDA's own.
	Location           string
	Target, Activation float64
	// Asks says in words what is asked and what is made of it; "" where that is not to be told.
	Asks string
	// Refused says why KEDA takes no such trigger, or can do nothing with any answer; "" where it does and can.
	Refused string
	// Notes are what else there is to find in the trigger, and how the workload wakes by it.
	Notes []string
}

// Host is who is asked, where URL is not "".
func (r *Reading) Host() string {
	_, rest, _ := strings.Cut(r.URL, "//")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// Series says of a trigger that reads series what it asks, and that it is not leadsman that answers KEDA, or not at once.
func (r *Reading) Series(kind string) string {
	asks := r.Asks
	if asks == "" {
		asks = "its query has leadsman's series"
	}
	if kind == typePrometheus {
		return "KEDA asks Prometheus, which has it from leadsman's last scrape: " + asks
	}
	return "KEDA reads it from " + pathMetrics + ", as Prometheus does: " + asks
}

// longestQuery bounds, in bytes, a query of Prometheus whose every selector is looked at with all that is above it.
const longestQuery = 8 << 10

// Read reads one of an object's triggers. It knows no other document, and leaves it to the server to say what is wrong with
// what it is asked.
func Read(of *kube.Object, index int) Reading {
	l := Linter{unparsed: true}
	o := &object{Object: of}
	if of.Kind == "" { // a part of one
		named := *of
		named.Kind = kube.KindScaledObject
		o.Object = &named
	}
	t := &readTrigger{Trigger: &of.Spec.Triggers[index], path: fmt.Sprintf("spec.triggers[%d]", index)}
	if t.Type != typeMetricsAPI && t.Type != typePrometheus {
		return Reading{}
	}
	if text, _ := t.Metadata[keyQuery].(string); len(text) > longestQuery {
		return Reading{Ours: true, Notes: []string{fmt.Sprintf("query: is longer than %d KiB, and not looked at", longestQuery>>10)}}
	}
	if !l.read(o, t) {
		return Reading{}
	}
	o.checkTrigger(t)
	if of.Kind == kube.KindScaledJob {
		o.noteJobPoll()
	} else {
		o.checkObjectTrigger(t)
		pushed := func(other kube.Trigger) bool { return other.Type == typeExternalPush }
		if o.sleeps() && !slices.ContainsFunc(of.Spec.Triggers, pushed) {
			o.notePoll(t)
		}
	}
	out := Reading{
		Ours: true, Location: t.value(keyLocation), Target: t.target, Activation: t.activation, Asks: t.asks,
		Refused: strings.Join(o.refusals(t), "; "), Notes: o.notes(t),
	}
	if t.url != nil {
		out.URL = bare(t.url)
	}
	return out
}

// refusals are the findings for which KEDA takes no such trigger.
func (o *object) refusals(t *readTrigger) []string {
	var all []string
	for i := range o.findings {
		if o.findings[i].refused {
			all = append(all, o.findings[i].of(t))
		}
	}
	return all
}

// notes are all other findings but those that all is well.
func (o *object) notes(t *readTrigger) []string {
	var all []string
	for i := range o.findings {
		if f := &o.findings[i]; !f.refused && f.Level != driver.LevelOK {
			all = append(all, f.of(t))
		}
	}
	return all
}

// of writes a finding as one of a trigger's.
func (f *Finding) of(t *readTrigger) string {
	key := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(f.Key, t.path+"."), "metadata."), "spec.")
	return strings.TrimSuffix(key+": "+f.Found+"; "+f.Remedy, "; ")
}

// bare is a URL without the tokens that are in it.
func bare(u *url.URL) string {
	b := *u
	b.User = nil
	parameters := b.Query()
	if query.DropTokens(parameters) {
		b.RawQuery = parameters.Encode()
	}
	return b.String()
}
