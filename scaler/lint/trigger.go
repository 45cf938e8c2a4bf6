package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/internal/kube"
	"github.com/leadsman/leadsman/internal/spell"
	"github.com/leadsman/leadsman/scaler/internal/query"
)

// The types of triggers that may ask leadsman: the first two always do.
const (
	typeExternal     = "external"
	typeExternalPush = "external-push"
	typeMetricsAPI   = "metrics-api"
	typePrometheus   = "prometheus"
)

// The metricTypes that KEDA takes for them.
const (
	metricTypeAverage = "AverageValue"
	metricTypeValue   = "Value"
)

// A readTrigger is one that asks leadsman, with what it asks, in whatever language.
type readTrigger struct {
	*kube.Trigger

	path  string // spec.triggers[0]
	given map[string]string
	// asked is the key of the metadata that says which metric is asked for; of an external trigger, each key is its own.
	asked string
	// query is what is asked, where ok is set.
	query query.Query
	ok    bool

	// KEDA's own, where it is not told by gRPC: where it asks /api/scaler, and what it makes of the value.
	url                *url.URL
	target, activation float64
	asks               string // in words
}

// metadata is the path of a key of the trigger's metadata.
func (t *readTrigger) metadata(key string) string { return t.path + ".metadata." + clip(key) }

// at is the path of what says something of the query, such as the metric.
func (t *readTrigger) at(key string) string {
	if t.asked != "" {
		key = t.asked
	}
	return t.metadata(key)
}

// write says how to ask for a metric.
func (t *readTrigger) write(metric query.Metric) string {
	switch {
	case t.asked == "":
		return "write metric: " + string(metric)
	case t.Type == typeMetricsAPI && t.asked == keyURL:
		return "write metric=" + string(metric) + " into the URL"
	case t.Type == typeMetricsAPI && !strings.HasPrefix(t.given[keyLocation], seriesPrefix):
		return "write valueLocation: metricValue, and metric=" + string(metric) + " into the URL"
	case metric == query.MetricOutstanding:
		return `write state=~"ready|running"`
	default:
		return `write state="` + string(metric) + `"`
	}
}

// has tells whether the metadata has a key, plain or FromEnv.
func (t *readTrigger) has(key string) bool {
	_, plain := t.given[key]
	_, env := t.given[key+"FromEnv"]
	return plain || env
}

// readTriggers checks every trigger that asks leadsman, and returns them.
func (l *Linter) readTriggers(o *object) []*readTrigger {
	var ours []*readTrigger
	if len(o.Spec.Triggers) == 0 {
		o.fail("spec.triggers", "there is no trigger", "add one of type "+typeExternalPush)
	}
	for i := range o.Spec.Triggers {
		t := &readTrigger{Trigger: &o.Spec.Triggers[i], path: fmt.Sprintf("spec.triggers[%d]", i)}
		if l.read(o, t) {
			o.checkTrigger(t)
			ours = append(ours, t)
		}
	}
	if len(ours) == 0 && len(o.Spec.Triggers) > 0 {
		o.note("spec.triggers", "none asks leadsman: none is of type external or external-push, is a metrics-api with a URL "+
			"of /api/scaler, or has a prometheus query with leadsman's series", "")
	}
	return ours
}

// read reads what a trigger asks; false where it is not leadsman that it asks.
func (l *Linter) read(o *object, t *readTrigger) bool {
	switch t.Type {
	case typeExternal, typeExternalPush:
		t.given = o.texts(t)
		l.readExternal(o, t)
	case typeMetricsAPI:
		return l.readMetricsAPI(o, t)
	case typePrometheus:
		return l.readPrometheus(o, t)
	default:
		if meant := spell.Nearest(t.Type, []string{typeExternal, typeExternalPush, typeMetricsAPI, typePrometheus}); meant != "" {
			o.fail(t.path+".type", strconv.Quote(clip(t.Type))+" is no type that KEDA knows", "write "+meant)
		}
		return false
	}
	return true
}

// texts are the metadata's values, which must be texts: KEDA's schema has it so, and an API server refuses anything else.
func (o *object) texts(t *readTrigger) map[string]string {
	all := make(map[string]string, len(t.Metadata))
	for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
		path := t.metadata(key)
		switch v := t.Metadata[key].(type) {
		case string:
			all[key] = v
		case nil:
			o.refuse(path, "has no value", "write one in quotes, or remove the key")
			all[key] = ""
		case bool, json.Number:
			o.refuse(path, "is no text, and the API server refuses it", "write it in quotes")
			all[key] = fmt.Sprint(v)
		default:
			o.refuse(path, "is no text", "write a text in quotes, several queues as \"a, b\"")
			all[key] = ""
		}
	}
	return all
}

// checkTrigger looks at what is not in the metadata.
func (o *object) checkTrigger(t *readTrigger) {
	if t.UseCachedMetrics && t.Type != typePrometheus { // Prometheus is asked less by it
		o.warn(t.path+".useCachedMetrics",
			"the HPA gets values that are up to a pollingInterval old, and leadsman answers from memory anyway",
			"remove it")
	}
	switch t.MetricType {
	case "", metricTypeAverage, metricTypeValue:
	case "Utilization":
		o.refuse(t.path+".metricType", "Utilization is for cpu and memory, and KEDA refuses it here",
			"write AverageValue, or Value for ages and shares")
	default:
		o.refuse(t.path+".metricType", strconv.Quote(clip(t.MetricType))+" is no metricType", "write AverageValue or Value")
	}
}
