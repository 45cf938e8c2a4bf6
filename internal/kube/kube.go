// Package kube reads manifests, as far as they say what scales what: ScaledObjects, ScaledJobs and
// HorizontalPodAutoscalers, the workloads and TriggerAuthentications beside them, and the rules of Prometheus.
//
// It takes what people pass to kubectl and what kubectl writes: YAML or JSON, several documents in one stream, Lists. Values
// are read as kubectl reads them, in its own YAML (1.1, where no is false), so that whoever is told that a value is no text
// is told what the API server would say. Every object knows the lines of its keys, so that what is said of a key can be found.
//
// Reading is lenient: what an object may hold beyond the keys of [Spec] is nobody's concern here, and a value of the wrong
// type is noted beside the object that has it. The readers are "leadsman explain", "leadsman doctor -f" (package lint) and
// the page; each decides for itself what is a mistake. The package does no I/O.
package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	node "go.yaml.in/yaml/v3"
)

// A Document is one of a stream of YAML.
type Document struct {
	// Number counts from 1. Documents before the first that holds more than comments do not count.
	Number int
	// JSON is the document as JSON; nil where it is no YAML, null where it is nothing but comments.
	JSON []byte
	// Objects are those of the document: one, those of a List, or none.
	Objects []*Object
	// Err says why the document, or an item of a List in it, is no object.
	Err *Error
}

// An Error says what is wrong with a document.
type Error struct {
	Document int
	Line     int // of the stream, from 1; 0 where it is not known
	Text     string
}

// Error returns the text on one line, beginning with the place.
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("document %d: %s", e.Document, e.Text)
	}
	return fmt.Sprintf("document %d, line %d: %s", e.Document, e.Line, e.Text)
}

// Read reads the documents of a stream. It always succeeds: a document that cannot be read has an Err.
func Read(text []byte) []Document {
	var all []Document
	for _, p := range split(text) {
		p.lines = linesOf(p.text, p.lines.first)
		raw, err := p.json()
		if err == nil && len(all) == 0 && string(raw) == "null" {
			continue
		}
		d := Document{Number: len(all) + 1, JSON: raw}
		if err != nil {
			d.Err = p.fault(err)
			d.Err.Document = d.Number
		} else {
			r := reader{document: &d, lines: p.lines}
			r.read(raw, p.node())
		}
		all = append(all, d)
	}
	return all
}

// A reader reads the objects of one document.
type reader struct {
	document *Document
	lines    lines
}

// read takes an object, or the items of a List.
func (r *reader) read(raw []byte, at *node.Node) {
	if string(raw) == "null" {
		return // nothing but comments
	}
	var head struct {
		Kind  string          `json:"kind"`
		Items json.RawMessage `json:"items"`
	}
	if wrong, ok := errors.AsType[*TypeError](Decode(raw, &head)); ok && wrong.Key == "" {
		r.fail(at, "what is to be an object must not be "+wrong.Is)
		return
	}
	if head.Items == nil || head.Kind != "" && !strings.HasSuffix(head.Kind, "List") {
		r.document.Objects = append(r.document.Objects, r.object(raw, at))
		return
	}
	var items []json.RawMessage
	if err := json.Unmarshal(head.Items, &items); err != nil {
		r.fail(child(at, "items"), "the items of a "+head.Kind+" must be a list")
		return
	}
	for i, item := range items {
		r.read(item, child(at, fmt.Sprintf("items[%d]", i)))
	}
}

// fail notes the first thing that is wrong.
func (r *reader) fail(at *node.Node, text string) {
	if r.document.Err != nil {
		return
	}
	r.document.Err = &Error{Document: r.document.Number, Text: text}
	if at != nil {
		r.document.Err.Line = r.lines.of(at.Line)
	}
}

func (r *reader) object(raw []byte, at *node.Node) *Object {
	o := &Object{Document: r.document.Number, node: at, lines: r.lines}
	o.Wrong, _ = errors.AsType[*TypeError](Decode(raw, o)) // there is no other error in what was JSON before
	var whole struct {
		Spec map[string]any `json:"spec"`
	}
	_ = Decode(raw, &whole) // a spec that is no map is Wrong already
	o.Raw = whole.Spec
	return o
}
