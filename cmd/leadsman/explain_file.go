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
	Kind     string `json:"kind"`
	Metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec explainSpec `json:"spec"`
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

// addObject takes an object, or those of a List. Objects of other kinds may look as they like.
func (m *explainDocuments) addObject(raw []byte) error {
	var head struct {
		APIVersion string          `json:"apiVersion"`
		Kind       string          `json:"kind"`
		Items      json.RawMessage `json:"items"`
	}
	if err := decodeObject(raw, &head); err != nil {
		return err
	}
	var object explainObject
	switch {
	case strings.HasSuffix(head.Kind, "List"):
		var items []json.RawMessage
		if err := decodeObject(head.Items, &items); err != nil {
			return err
		}
		for _, item := range items {
			if err := m.addObject(item); err != nil {
				return err
			}
		}
	case strings.HasPrefix(head.APIVersion, "keda.sh/") && (head.Kind == kindScaledObject || head.Kind == kindScaledJob):
		if err := decodeObject(raw, &object); err != nil {
			return err
		}
		m.scaled = append(m.scaled, object)
	case head.Kind == "": // an empty document
	case json.Unmarshal(raw, &object) == nil && len(object.Spec.Template.Spec.Containers) > 0:
		m.workloads = append(m.workloads, object)
	default:
		m.others[head.Kind] = true
	}
	return nil
}

// decodeObject decodes JSON; the error says where it is not what it must be.
func decodeObject(raw []byte, to any) error {
	if len(raw) == 0 {
		return nil
	}
	err := json.Unmarshal(raw, to)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where := wrong.Field
		if where == "" {
			where = "what is to be an object"
		}
		return fmt.Errorf("%s must not be %s", where, article(wrong.Value))
	}
	return err
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
