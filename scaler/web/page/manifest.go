package page

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/leadsman/leadsman/internal/kube"
	"github.com/leadsman/leadsman/scaler/lint"
	"github.com/leadsman/leadsman/scaler/web"
)

// A subject is an object whose triggers can be explained.
type subject struct {
	kind, namespace, name string // "" where only metadata was given
	lowest, highest       int32  // replicas; highest 0 is KEDA's default
	triggers              []trigger
}

// A trigger is one trigger of a subject, as KEDA would send it.
type trigger struct {
	path     string // where it is, such as spec.triggers[0]; "" where only metadata was given
	kind     string
	metric   string // metricType
	metadata map[string]string
	over     *web.MetricsAPI // instead of metadata, where KEDA asks over HTTP
	skipped  string          // why KEDA asks leadsman nothing about it; "" where it does
	fault    string          // why it cannot be explained, beginning with the key; "" where it can
	remarks  []string        // what else is to be known
}

// line is one entry of metadata by itself: key: value, or key=value.
var line = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9]*)\s*[:=]\s*([^\s{].*)$`)

var errNothing = errors.New("there is no ScaledObject or ScaledJob in this; paste one as YAML, " +
	"or the metadata of a trigger, one key: value a line")

// readSubjects reads ScaledObjects and ScaledJobs from YAML, of which there may be several documents, or a part of one
// that holds triggers or metadata, or lines of metadata.
func readSubjects(text string) ([]subject, error) {
	metadata, err := readLines(text)
	if err != nil {
		return nil, err
	}
	if metadata != nil {
		return []subject{aloneSubject(kube.Trigger{Metadata: metadata})}, nil
	}
	var all []subject
	for _, document := range kube.Read([]byte(text)) {
		found, err := readDocument(&document)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, errNothing
	}
	return all, nil
}

// readLines reads lines of metadata; nil where the text is something else. They are not read as YAML, where
// the queue * would be an alias and the target 10 no text.
func readLines(text string) (map[string]any, error) {
	var metadata map[string]any
	for each := range strings.Lines(text) {
		each = strings.TrimSpace(each)
		if each == "" || strings.HasPrefix(each, "#") {
			continue
		}
		parts := line.FindStringSubmatch(each)
		if len(parts) == 0 || parts[1] == "kind" || parts[1] == "apiVersion" {
			return nil, nil //nolint:nilnil // something else is no error
		}
		if _, twice := metadata[parts[1]]; twice {
			return nil, fmt.Errorf("%s: is there twice; give it once, several queues as a comma-separated list", parts[1])
		}
		if metadata == nil {
			metadata = map[string]any{}
		}
		metadata[parts[1]] = unquote(parts[2])
	}
	return metadata, nil
}

func unquote(value string) string {
	if quote := value[:1]; quote == `"` || quote == "'" {
		if inner, _, ok := strings.Cut(value[1:], quote); ok {
			return inner
		}
	}
	value, _, _ = strings.Cut(value, " #")
	return strings.TrimSpace(value)
}

// readDocument finds what can be explained in one document.
func readDocument(document *kube.Document) ([]subject, error) {
	whole := bytes.TrimSpace(document.JSON)
	switch {
	case document.Err == nil:
	case bytes.HasPrefix(whole, []byte("[")): // triggers, without what they are under
		return readPart(document.Number, append(append([]byte(`{"triggers":`), whole...), '}'))
	case len(whole) > 0 && whole[0] != '{':
		return nil, nil // words
	default:
		return nil, document.Err
	}
	var all []subject
	for _, object := range document.Objects {
		inSpec := len(object.Spec.Triggers) > 0 || object.Wrong != nil && strings.HasPrefix(object.Wrong.Key, "spec")
		switch {
		case object.Scaled(), object.Kind == "" && inSpec:
			if err := checkObject(object); err != nil {
				return nil, err
			}
			all = append(all, newSubject(object))
		case object.Kind == "" && len(document.Objects) == 1:
			return readPart(document.Number, document.JSON)
		}
	}
	return all, nil
}

// readPart finds what can be explained in a part of an object: a spec, or one trigger.
func readPart(number int, raw []byte) ([]subject, error) {
	part, one := &kube.Object{}, kube.Trigger{}
	err := kube.Decode(raw, &part.Spec)
	if len(part.Spec.Triggers) == 0 {
		err = kube.Decode(raw, &one)
	}
	if wrong, ok := errors.AsType[*kube.TypeError](err); ok {
		return nil, &kube.Error{Document: number, Text: wrong.Error()}
	}
	switch {
	case len(part.Spec.Triggers) > 0:
		part.Document = number
		return []subject{newSubject(part)}, checkObject(part)
	case len(one.Metadata) > 0:
		return []subject{aloneSubject(one)}, nil
	default:
		return nil, nil // of no concern here
	}
}

// checkObject finds what keeps an object from being explained.
func checkObject(object *kube.Object) error {
	key, what := checkBounds(&object.Spec)
	if object.Wrong != nil {
		key, what = object.Wrong.Key, "must not be "+object.Wrong.Is
	}
	if key == "" {
		return nil
	}
	return &kube.Error{Document: object.Document, Line: object.Line(key), Text: key + ": " + what}
}

// checkBounds says which bound makes no sense, and why; "" for none.
func checkBounds(spec *kube.Spec) (key, what string) {
	lowest, highest := bounds(spec)
	switch {
	case lowest < 0:
		return "spec.minReplicaCount", "give 0 or more"
	case highest < 0:
		return "spec.maxReplicaCount", "give 1 or more"
	case highest > 0 && highest < lowest:
		return "spec.maxReplicaCount", fmt.Sprintf("%d is below minReplicaCount, %d", highest, lowest)
	}
	return "", ""
}

// bounds are those of a spec; 0 where it says nothing.
func bounds(spec *kube.Spec) (lowest, highest int32) {
	if spec.MinReplicaCount != nil {
		lowest = *spec.MinReplicaCount
	}
	if spec.MaxReplicaCount != nil {
		highest = *spec.MaxReplicaCount
	}
	return lowest, highest
}

func newSubject(object *kube.Object) subject {
	s := subject{kind: object.Kind, namespace: object.Metadata.Namespace, name: object.Metadata.Name}
	s.lowest, s.highest = bounds(&object.Spec)
	for i := range object.Spec.Triggers {
		s.triggers = append(s.triggers, newTrigger(object, i, fmt.Sprintf("spec.triggers[%d]", i)))
	}
	return s
}

// aloneSubject is one of a trigger that was given without its object.
func aloneSubject(t kube.Trigger) subject {
	return subject{triggers: []trigger{newTrigger(&kube.Object{Spec: kube.Spec{Triggers: []kube.Trigger{t}}}, 0, "")}}
}

// kindOf is the type of a trigger; where it has none, it is the metadata that tells.
func kindOf(t *kube.Trigger) string {
	switch _, overHTTP := t.Metadata["url"]; {
	case t.Type == "" && overHTTP:
		return "metrics-api"
	case t.Type == "":
		return "external"
	default:
		return t.Type
	}
}

// newTrigger makes metadata what KEDA would send. The values of keys that end in FromEnv are known to KEDA alone.
func newTrigger(object *kube.Object, index int, path string) trigger {
	given := &object.Spec.Triggers[index]
	given.Type = kindOf(given)
	t := trigger{path: path, kind: given.Type, metric: given.MetricType, metadata: map[string]string{}}
	if t.kind != "external" && t.kind != "external-push" {
		t.read(object, index)
		return t
	}
	if t.metric != "" && t.metric != "AverageValue" && t.metric != "Value" {
		t.fault = "metricType: KEDA refuses this one; write AverageValue or Value"
		return t
	}
	metadata := given.Metadata
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		value, ok := metadata[key].(string)
		switch {
		case !ok:
			where := strings.TrimPrefix(path+".metadata."+key, ".")
			t.fault = fmt.Sprintf("%s: must be text; write %s: %q", where, key, fmt.Sprint(metadata[key]))
			return t
		case key == "token" || key == "tokenFromEnv":
			t.remarks = append(t.remarks, key+": is not looked at here; what it is granted may be less than what you are")
		case strings.HasSuffix(key, "FromEnv"):
			t.remarks = append(t.remarks, key+
				": KEDA takes it from the workload's environment, which is not known here; this is explained without it")
		default:
			t.metadata[key] = value
		}
	}
	return t
}

// read makes of a trigger that is not told by gRPC what KEDA makes of it: the linter reads it.
func (t *trigger) read(object *kube.Object, index int) {
	reading := lint.Read(object, index)
	t.fault, t.remarks = reading.Refused, reading.Notes
	switch {
	case t.fault != "":
	case !reading.Ours:
		t.skipped = "KEDA does not ask leadsman about a trigger of type " + t.kind
	case reading.URL == "":
		t.skipped = reading.Series(t.kind)
	default:
		t.over = &web.MetricsAPI{
			URL: reading.URL, Location: reading.Location, Target: reading.Target, Activation: reading.Activation,
		}
	}
}
