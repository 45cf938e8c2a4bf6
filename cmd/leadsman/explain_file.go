package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// The kinds of KEDA's objects.
const (
	kindScaledObject = "ScaledObject"
	kindScaledJob    = "ScaledJob"
)

// An explainObject is what explain reads of a Kubernetes object. It is lenient: whether all of an object is right is a
// question for doctor and for the API server.
type explainObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec  explainSpec       `json:"spec"`
	Items []json.RawMessage `json:"items"` // of a List
}

type explainSpec struct {
	ScaleTargetRef struct {
		Kind      string `json:"kind"`
		Name      string `json:"name"`
		Container string `json:"envSourceContainerName"`
	} `json:"scaleTargetRef"`
	Min      *int32           `json:"minReplicaCount"`
	Max      *int32           `json:"maxReplicaCount"`
	Idle     *int32           `json:"idleReplicaCount"`
	Triggers []explainTrigger `json:"triggers"`
	Advanced struct {
		ScalingModifiers struct {
			Formula string `json:"formula"`
		} `json:"scalingModifiers"`
	} `json:"advanced"`
	JobTargetRef struct {
		Template podTemplate `json:"template"`
	} `json:"jobTargetRef"`
	Container       string `json:"envSourceContainerName"` // of a ScaledJob
	ScalingStrategy struct {
		Strategy string `json:"strategy"`
	} `json:"scalingStrategy"`
	Template podTemplate `json:"template"` // of a workload
}

type explainTrigger struct {
	Type              string         `json:"type"`
	Name              string         `json:"name"`
	MetricType        string         `json:"metricType"`
	Metadata          map[string]any `json:"metadata"`
	AuthenticationRef *struct {
		Name string `json:"name"`
	} `json:"authenticationRef"`
}

// explainDocuments are the objects of all documents.
type explainDocuments struct {
	scaled    []explainObject
	workloads []explainObject
	others    map[string]bool // kinds that say nothing here
}

// add reads the documents of a file.
func (m *explainDocuments) add(data []byte) error {
	for i, document := range splitYAML(data) {
		raw, err := yaml.YAMLToJSONStrict(document)
		if err == nil {
			err = m.addObject(raw)
		}
		if err != nil {
			text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
			return fmt.Errorf("document %d: %s", i+1, strings.Join(strings.Fields(text), " "))
		}
	}
	return nil
}

// splitYAML splits a YAML stream. The line --- parts documents; it cannot be within one.
func splitYAML(data []byte) [][]byte {
	var all [][]byte
	var document bytes.Buffer
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(line, []byte("---")); ok && len(bytes.TrimSpace(rest[:min(1, len(rest))])) == 0 {
			all = append(all, slices.Clone(document.Bytes()))
			document.Reset()
			document.Write(rest)
			continue
		}
		document.Write(line)
	}
	return append(all, document.Bytes())
}

func (m *explainDocuments) addObject(raw []byte) error {
	var object explainObject
	if err := json.Unmarshal(raw, &object); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fmt.Errorf("%s must not be %s", wrong.Field, article(wrong.Value))
		}
		return err
	}
	keda := strings.HasPrefix(object.APIVersion, "keda.sh/")
	switch {
	case len(object.Items) > 0:
		for _, item := range object.Items {
			if err := m.addObject(item); err != nil {
				return err
			}
		}
	case keda && (object.Kind == kindScaledObject || object.Kind == kindScaledJob):
		m.scaled = append(m.scaled, object)
	case len(object.Spec.Template.Spec.Containers) > 0:
		m.workloads = append(m.workloads, object)
	case object.Kind != "":
		if m.others == nil {
			m.others = map[string]bool{}
		}
		m.others[object.Kind] = true
	}
	return nil
}

func article(what string) string {
	if strings.ContainsAny(what[:1], "aeiou") {
		return "an " + what
	}
	return "a " + what
}

// nothing is the error when there is nothing to explain.
func (m *explainDocuments) nothing(files []string) error {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = inputName(file)
	}
	kinds := slices.Collect(maps.Keys(m.others))
	for i := range m.workloads {
		kinds = append(kinds, m.workloads[i].Kind)
	}
	text := strings.Join(names, ", ") + ": there is no ScaledObject or ScaledJob of keda.sh"
	if len(kinds) > 0 {
		slices.Sort(kinds)
		text += ", only " + strings.Join(slices.Compact(kinds), ", ")
	}
	return errors.New(text)
}
