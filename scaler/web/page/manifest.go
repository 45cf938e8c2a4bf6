package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
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
	metadata map[string]string
	skipped  string   // why KEDA asks leadsman nothing about it; "" where it does
	fault    string   // why it cannot be explained, beginning with the key; "" where it can
	remarks  []string // what else is to be known
}

// A manifest is what is read of a document. Whether the rest of it is right is for the API server to say.
type manifest struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec  manifestSpec      `json:"spec"`
	Items []json.RawMessage `json:"items"`
}

type manifestSpec struct {
	Lowest   int32             `json:"minReplicaCount"`
	Highest  int32             `json:"maxReplicaCount"`
	Triggers []manifestTrigger `json:"triggers"`
}

type manifestTrigger struct {
	Type       string         `json:"type"`
	MetricType string         `json:"metricType"`
	Metadata   map[string]any `json:"metadata"`
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
		return []subject{{triggers: []trigger{newTrigger("", "external", "", metadata)}}}, nil
	}
	var all []subject
	for i, document := range documents([]byte(text)) {
		raw, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %s", i+1, plain(err))
		}
		found, err := readDocument(raw)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", i+1, err)
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

// documents splits a YAML stream at its lines of ---.
func documents(text []byte) [][]byte {
	var all [][]byte
	var one []byte
	for each := range bytes.Lines(text) {
		if bytes.Equal(bytes.TrimSpace(each), []byte("---")) {
			all, one = append(all, one), nil
			continue
		}
		one = append(one, each...)
	}
	return append(all, one)
}

// plain takes the converter's own words out of its error.
func plain(err error) string {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	return strings.Join(strings.Fields(strings.TrimPrefix(text, "yaml: ")), " ")
}

// readDocument finds what can be explained in one document, as JSON.
func readDocument(raw []byte) ([]subject, error) {
	if list := bytes.TrimSpace(raw); len(list) > 0 && list[0] == '[' { // triggers, without what they are under
		raw = append(append([]byte(`{"triggers":`), list...), '}')
	}
	var whole manifest
	var part manifestSpec
	var one manifestTrigger
	if err := decode(raw, &whole); err != nil {
		return nil, err
	}
	switch {
	case len(whole.Items) > 0:
		return readItems(whole.Items)
	case whole.Kind == "ScaledObject" || whole.Kind == "ScaledJob":
		return []subject{newSubject(&whole)}, checkBounds(&whole.Spec)
	case whole.Kind != "":
		return nil, nil // of no concern here
	}
	if len(whole.Spec.Triggers) > 0 {
		return []subject{newSubject(&whole)}, checkBounds(&whole.Spec)
	}
	if err := decode(raw, &part); err != nil {
		return nil, err
	}
	if len(part.Triggers) > 0 {
		whole.Spec = part
		return []subject{newSubject(&whole)}, checkBounds(&part)
	}
	if err := decode(raw, &one); err != nil || len(one.Metadata) == 0 {
		return nil, err
	}
	return []subject{{triggers: []trigger{newTrigger("", one.Type, one.MetricType, one.Metadata)}}}, nil
}

func readItems(items []json.RawMessage) ([]subject, error) {
	var all []subject
	for i, item := range items {
		found, err := readDocument(item)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// decode says of what has the wrong type which key it is under.
func decode(raw []byte, into any) error {
	err := json.Unmarshal(raw, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if wrong.Field == "" {
			return errNothing
		}
		return fmt.Errorf("%s: must not be a %s", wrong.Field, wrong.Value)
	}
	return err
}

func checkBounds(spec *manifestSpec) error {
	switch {
	case spec.Lowest < 0:
		return errors.New("spec.minReplicaCount: give 0 or more")
	case spec.Highest < 0:
		return errors.New("spec.maxReplicaCount: give 1 or more")
	case spec.Highest > 0 && spec.Highest < spec.Lowest:
		return fmt.Errorf("spec.maxReplicaCount: %d is below minReplicaCount, %d", spec.Highest, spec.Lowest)
	}
	return nil
}

func newSubject(m *manifest) subject {
	s := subject{
		kind: m.Kind, namespace: m.Metadata.Namespace, name: m.Metadata.Name, lowest: m.Spec.Lowest, highest: m.Spec.Highest,
	}
	for i, t := range m.Spec.Triggers {
		s.triggers = append(s.triggers, newTrigger(fmt.Sprintf("spec.triggers[%d]", i), t.Type, t.MetricType, t.Metadata))
	}
	return s
}

// newTrigger makes metadata what KEDA would send. The values of keys that end in FromEnv are known to KEDA alone.
func newTrigger(path, kind, metricType string, metadata map[string]any) trigger {
	t := trigger{path: path, kind: kind, metadata: map[string]string{}}
	if kind == "" {
		t.kind = "external"
	}
	if t.kind != "external" && t.kind != "external-push" {
		t.skipped = "KEDA asks no external scaler about a trigger of type " + t.kind
		return t
	}
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
	if metricType == "Value" {
		t.remarks = append(t.remarks,
			"metricType: with Value, the HPA multiplies the replicas there are by value/target; those shown are for AverageValue")
	}
	return t
}
