package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/leadsman/leadsman/internal/kube"
)

// explainDocuments are the objects of all documents. explain is lenient with them: whether all of an object is right is a
// question for doctor and for the API server.
type explainDocuments struct {
	scaled    []*kube.Object
	workloads []*kube.Object
	others    map[string]bool // kinds that say nothing here
}

// add reads the documents of a file.
func (m *explainDocuments) add(data []byte) error {
	for _, document := range kube.Read(data) {
		if document.Err != nil {
			return document.Err
		}
		for _, object := range document.Objects {
			switch {
			case object.Scaled() && object.Wrong != nil:
				return &kube.Error{Document: object.Document, Line: object.Line(object.Wrong.Key), Text: object.Wrong.Error()}
			case object.Scaled():
				m.scaled = append(m.scaled, object)
			case object.Workload():
				m.workloads = append(m.workloads, object)
			case object.Kind != "":
				m.others[object.Kind] = true
			}
		}
	}
	return nil
}

// nothing is the error when there is nothing to explain.
func (m *explainDocuments) nothing(files []string) error {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = inputName(file)
	}
	kinds := slices.Collect(maps.Keys(m.others))
	for _, workload := range m.workloads {
		kinds = append(kinds, workload.Kind)
	}
	text := strings.Join(names, ", ") + ": there is no ScaledObject or ScaledJob of keda.sh"
	if len(kinds) > 0 {
		slices.Sort(kinds)
		text += ", only " + strings.Join(slices.Compact(kinds), ", ")
	}
	return errors.New(text)
}
