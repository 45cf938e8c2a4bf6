package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/internal/spell"
	"github.com/leadsman/leadsman/scaler/internal/query"
)

// The types of triggers that leadsman answers.
const (
	typeExternal     = "external"
	typeExternalPush = "external-push"
)

// The metricTypes that KEDA takes for them.
const (
	metricTypeAverage = "AverageValue"
	metricTypeValue   = "Value"
)

// A read trigger is one of leadsman's with what its metadata means.
type readTrigger struct {
	*trigger

	path  string // spec.triggers[0]
	given map[string]string
	query query.Query
	ok    bool // query is what the server would make of it
}

// metadata is the path of a key of the trigger's metadata.
func (t *readTrigger) metadata(key string) string { return t.path + ".metadata." + clip(key) }

// has tells whether the metadata has a key, plain or FromEnv.
func (t *readTrigger) has(key string) bool {
	_, plain := t.given[key]
	_, env := t.given[key+"FromEnv"]
	return plain || env
}

// readTriggers checks every trigger that leadsman answers, and returns them.
func (l *Linter) readTriggers(o *object) []*readTrigger {
	var ours []*readTrigger
	if len(o.Spec.Triggers) == 0 {
		o.fail("spec.triggers", "there is no trigger", "add one of type "+typeExternalPush)
	}
	for i := range o.Spec.Triggers {
		t := &readTrigger{trigger: &o.Spec.Triggers[i], path: fmt.Sprintf("spec.triggers[%d]", i)}
		if t.Type != typeExternal && t.Type != typeExternalPush {
			if meant := spell.Nearest(t.Type, []string{typeExternal, typeExternalPush}); meant != "" {
				o.fail(t.path+".type", strconv.Quote(clip(t.Type))+" is no type that KEDA knows", "write "+meant)
			}
			continue
		}
		l.read(o, t)
		o.checkTrigger(t)
		ours = append(ours, t)
	}
	if len(ours) == 0 && len(o.Spec.Triggers) > 0 {
		o.note("spec.triggers", "none is of type external or external-push, which are those that leadsman answers", "")
	}
	return ours
}

// read parses the metadata as the server would, as far as it is known: a key that ends in FromEnv takes its value from the
// workload's environment, which KEDA reads.
func (l *Linter) read(o *object, t *readTrigger) {
	t.given = make(map[string]string, len(t.Metadata))
	parsed := make(map[string]string, len(t.Metadata))
	anySource := ""
	for _, key := range slices.Sorted(maps.Keys(t.Metadata)) {
		value := o.text(t.metadata(key), t.Metadata[key])
		t.given[key] = value
		switch {
		case !query.FromEnv(key) || !query.Known(key):
			parsed[key] = value
		case key == "sourceFromEnv" && t.Metadata["source"] == nil:
			anySource = "from-the-environment"
		}
	}
	sources := l.sources(strings.TrimSpace(t.given["source"]))
	if anySource != "" {
		parsed["source"] = anySource
		sources = []query.Source{{Name: anySource}}
	}
	var err error
	if t.query, err = query.Parse(parsed, sources); err == nil {
		t.ok = true
		return
	}
	defer func() { // without what is wrong, for what can be said of the rest
		t.query, err = query.Parse(parsed, sources)
		t.ok = err == nil
	}()
	for _, fault := range faults(err) {
		delete(parsed, fault.Key)
		path := t.path + ".metadata"
		if !strings.Contains(fault.Error(), "(not shown") || query.Known(fault.Key) {
			path = t.metadata(fault.Key)
		}
		found, remedy := split(fault.Message)
		o.fail(path, found, remedy)
	}
}

// text is a value of metadata, which must be a text: KEDA's schema has it so, and an API server refuses anything else.
func (o *object) text(path string, raw json.RawMessage) string {
	var value any
	_ = json.Unmarshal(raw, &value) // it was parsed before
	switch v := value.(type) {
	case string:
		return v
	case nil:
		o.fail(path, "has no value", "write one in quotes, or remove the key")
	case bool, float64:
		o.fail(path, "is no text, and the API server refuses it", "write it in quotes")
		return string(raw)
	default:
		o.fail(path, "is no text", "write a text in quotes, several queues as \"a, b\"")
	}
	return ""
}

// faults are the several errors of Parse.
func faults(err error) []*query.Error {
	if one, ok := err.(*query.Error); ok { //nolint:errorlint // Parse returns it as it is, or several under one
		return []*query.Error{one}
	}
	var all []*query.Error
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		for _, e := range several.Unwrap() {
			all = append(all, faults(e)...)
		}
	}
	return all
}

// split parts a message into what is wrong and what would be right.
func split(message string) (found, remedy string) {
	found, remedy, _ = strings.Cut(message, "; ")
	return found, remedy
}

// checkTrigger looks at what is not in the metadata's meaning.
func (o *object) checkTrigger(t *readTrigger) {
	o.checkAddress(t)
	if t.given["token"] != "" {
		o.warn(t.metadata("token"), "whoever may read the "+o.Kind+" reads the token",
			"put it into a Secret that the workload has as a variable, and write tokenFromEnv with the variable's name")
	}
	if t.UseCachedMetrics {
		o.warn(t.path+".useCachedMetrics",
			"the HPA gets values that are up to a pollingInterval old, and leadsman answers from memory anyway",
			"remove it")
	}
	switch t.MetricType {
	case "", metricTypeAverage, metricTypeValue:
	case "Utilization":
		o.fail(t.path+".metricType", "Utilization is for cpu and memory, and KEDA refuses it here",
			"write AverageValue, or Value for ages and shares")
	default:
		o.fail(t.path+".metricType", strconv.Quote(clip(t.MetricType))+" is no metricType", "write AverageValue or Value")
	}
}

func (o *object) checkAddress(t *readTrigger) {
	address := strings.TrimSpace(t.given["scalerAddress"])
	const right = "write host:port, such as leadsman.leadsman:50051"
	switch _, _, err := net.SplitHostPort(address); {
	case t.has("scalerAddress") && t.given["scalerAddress"] == "": // it comes from the environment, or has its finding
		if _, plain := t.given["scalerAddress"]; plain {
			o.fail(t.metadata("scalerAddress"), "is empty", right)
		}
	case address == "":
		o.fail(t.metadata("scalerAddress"), "is missing, and KEDA refuses the trigger", right)
	case strings.Contains(address, "://"):
		o.fail(t.metadata("scalerAddress"), "has a scheme, and gRPC takes none", right)
	case err != nil:
		o.fail(t.metadata("scalerAddress"), "has no port", right)
	}
}
