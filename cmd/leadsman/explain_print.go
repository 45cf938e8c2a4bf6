package main

import (
	"fmt"
	"time"

	"github.com/leadsman/leadsman/internal/show"
)

func printExplained(p *show.Printer, subjects []subject) error {
	if p.IsData() {
		return explainedData(p, subjects)
	}
	for i := range subjects {
		if i > 0 {
			if err := p.Linef(""); err != nil {
				return err
			}
		}
		if err := printSubject(p, &subjects[i]); err != nil {
			return err
		}
	}
	return nil
}

func printSubject(p *show.Printer, s *subject) error {
	indent := ""
	if s.kind != "" {
		indent = "  "
		if err := p.Linef("%s", p.Paint(show.Bold, show.Text(s.title()))); err != nil {
			return err
		}
	}
	for _, remark := range s.remarks {
		if err := p.Linef("%snote: %s", indent, show.Text(remark)); err != nil {
			return err
		}
	}
	for i := range s.triggers {
		if err := printTrigger(p, &s.triggers[i], indent, s.kind != ""); err != nil {
			return err
		}
	}
	if len(s.triggers) < 2 {
		return nil
	}
	replicas, active, complete := s.together()
	if replicas < 0 {
		return nil // nothing was answered
	}
	least := "at least "
	if complete {
		least = ""
	}
	word := "not active"
	if active {
		word = "active"
	}
	return p.Linef("%stogether: %s%d replicas, the greatest of the triggers'; %s", indent, least, replicas, word)
}

// title names an object as people do.
func (s *subject) title() string {
	if s.namespace == "" {
		return s.kind + " " + s.name
	}
	return fmt.Sprintf("%s %s/%s", s.kind, s.namespace, s.name)
}

// title names a trigger by what KEDA's messages have of it.
func (t *subjectTrigger) title() string {
	text := fmt.Sprintf("trigger %d", t.index)
	if t.name != "" {
		text += " " + t.name
	}
	return text + " (" + t.kind + ")"
}

func printTrigger(p *show.Printer, t *subjectTrigger, indent string, titled bool) error {
	if t.skipped != "" {
		if err := p.Linef("%s%s: skipped, %s", indent, show.Text(t.title()), show.Text(t.skipped)); err != nil {
			return err
		}
		return printFields(p, indent+"  ", t.notes())
	}
	if titled {
		if err := p.Linef("%s%s", indent, show.Text(t.title())); err != nil {
			return err
		}
		indent += "  "
	}
	var fields []field
	if t.answer != nil {
		fields = t.answerFields()
	}
	if t.failure != "" {
		fields = append(fields, field{"error", show.Cell{Text: t.failure, Style: show.Bad}})
	}
	for i, why := range t.answer.GetWhy() {
		name := "why"
		if i > 0 {
			name = ""
		}
		fields = append(fields, field{name, show.Cell{Text: why}})
	}
	return printFields(p, indent, append(fields, t.notes()...))
}

func (t *subjectTrigger) notes() []field {
	fields := make([]field, len(t.remarks))
	for i, remark := range t.remarks {
		fields[i] = field{"note", show.Cell{Text: remark, Style: show.Dim}}
	}
	return fields
}

func (t *subjectTrigger) answerFields() []field {
	a, as := t.answer, ", as "+t.answer.GetMetricName()
	if t.over != nil {
		as = ", at " + t.over.GetValueLocation()
	}
	fields := []field{
		{"source", show.Cell{Text: a.GetQuery().GetSource()}},
		{fieldQueues, show.Cell{Text: queuesOf(a.GetQuery())}},
		{"metric", show.Cell{Text: a.GetQuery().GetMetric() + as}},
	}
	add := func(name, text string) { fields = append(fields, field{name, show.Cell{Text: text}}) }
	if a.Value != nil {
		add("value", show.Number(a.GetValue()))
	}
	add("target", show.Number(a.GetTarget()))
	if a.DesiredReplicas != nil {
		add("replicas", fmt.Sprintf("%d", a.GetDesiredReplicas()))
	}
	if a.Active != nil {
		fields = append(fields, field{"active", yesNo(a.GetActive())})
	}
	for _, q := range a.GetQueues() {
		if q.GetStaleReason() != "" {
			add("stale", fmt.Sprintf("as it was %s ago: %s", ago(q.GetSampledAt(), time.Now()), q.GetStaleReason()))
			break // they are of one sample
		}
	}
	return fields
}

// explainedData writes the subjects for programs. What is not there is left out, except for lists.
func explainedData(p *show.Printer, subjects []subject) error {
	objects := make([]map[string]any, len(subjects))
	for i := range subjects {
		s := &subjects[i]
		triggers := make([]map[string]any, len(s.triggers))
		for j := range s.triggers {
			tree, err := s.triggers[j].tree()
			if err != nil {
				return err
			}
			triggers[j] = tree
		}
		objects[i] = map[string]any{"triggers": triggers, "notes": listed(s.remarks)}
		for key, text := range map[string]string{"kind": s.kind, "namespace": s.namespace, "name": s.name} {
			if text != "" {
				objects[i][key] = text
			}
		}
	}
	return p.Data(map[string]any{"objects": objects})
}

// tree is a trigger for programs.
func (t *subjectTrigger) tree() (map[string]any, error) {
	tree := map[string]any{"index": t.index, "notes": listed(t.remarks)}
	for key, text := range map[string]string{"type": t.kind, "name": t.name, "skipped": t.skipped, "error": t.failure} {
		if text != "" {
			tree[key] = text
		}
	}
	if t.answer != nil {
		answer, err := show.Message(t.answer)
		if err != nil {
			return nil, err
		}
		tree["answer"] = answer
	}
	return tree, nil
}

// listed is a list that JSON writes as [] when it is empty.
func listed(texts []string) []string { return append([]string{}, texts...) }
