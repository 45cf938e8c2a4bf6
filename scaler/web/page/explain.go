package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/web"
)

const (
	maxForm = 128 << 10 // bytes of a form
	// maxExplained bounds the triggers of one form.
	maxExplained = 50
	// explainWithin bounds the time for all of them.
	explainWithin = 8 * time.Second
)

// An explainForm is what the form sends.
type explainForm struct {
	Text      string `json:"text"`
	Namespace string `json:"namespace"` // of objects that name none
	Current   int32  `json:"current"`   // replicas there are
}

// explained is the answer to a form.
type explained struct {
	Objects []explainedObject `json:"objects"`
}

type explainedObject struct {
	Kind      string             `json:"kind"`
	Namespace string             `json:"namespace"`
	Name      string             `json:"name"`
	Triggers  []explainedTrigger `json:"triggers"`
}

// An explainedTrigger is what KEDA would be told, where Skipped and Error are empty.
type explainedTrigger struct {
	Path     string      `json:"path,omitempty"`
	Type     string      `json:"type"`
	Skipped  string      `json:"skipped,omitempty"`
	Error    string      `json:"error,omitempty"` // KEDA would get it; it names the key that is wrong
	Query    *queryView  `json:"query,omitempty"`
	Target   float64     `json:"target,omitempty"` // KEDA's; over HTTP it need not be that of Query
	Value    *float64    `json:"value,omitempty"`
	Active   *bool       `json:"active,omitempty"`
	Replicas *int32      `json:"replicas,omitempty"`
	Queues   []queueView `json:"queues,omitempty"`
	LeftOut  int         `json:"leftOut,omitempty"`
	Why      []string    `json:"why,omitempty"`
	Remarks  []string    `json:"remarks,omitempty"`
}

// explain answers the form.
func (p *Page) explain(w http.ResponseWriter, r *http.Request) {
	_, id, err := p.admit(r)
	if err != nil {
		p.fail(w, err)
		return
	}
	subjects, form, err := readForm(w, r)
	if err != nil {
		p.fail(w, status.Error(codes.InvalidArgument, err.Error()))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), explainWithin)
	defer cancel()
	out := explained{Objects: make([]explainedObject, len(subjects))}
	for i := range subjects {
		out.Objects[i] = p.explainObject(ctx, id, &subjects[i], form)
	}
	reply(w, http.StatusOK, out)
}

// readForm reads the form and what it holds.
func readForm(w http.ResponseWriter, r *http.Request) ([]subject, explainForm, error) {
	var form explainForm
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxForm)).Decode(&form); err != nil {
		return nil, form, fmt.Errorf("the form cannot be read; it may hold %d bytes", maxForm)
	}
	if form.Current < 0 {
		return nil, form, errors.New("replicas now: give 0 or more")
	}
	subjects, err := readSubjects(form.Text)
	if err != nil {
		return nil, form, err
	}
	n := 0
	for i := range subjects {
		n += len(subjects[i].triggers)
	}
	if n > maxExplained {
		return nil, form, fmt.Errorf("there are %d triggers in this; give %d at once at most", n, maxExplained)
	}
	return subjects, form, nil
}

func (p *Page) explainObject(ctx context.Context, id scaler.Identity, s *subject, form explainForm) explainedObject {
	at := scaler.Situation{Namespace: s.namespace, Current: form.Current, Min: s.lowest, Max: s.highest}
	if at.Namespace == "" {
		at.Namespace = form.Namespace
	}
	out := explainedObject{Kind: s.kind, Namespace: at.Namespace, Name: s.name, Triggers: make([]explainedTrigger, len(s.triggers))}
	for i := range s.triggers {
		out.Triggers[i] = p.explainTrigger(ctx, id, &s.triggers[i], at)
	}
	return out
}

func (p *Page) explainTrigger(ctx context.Context, id scaler.Identity, t *trigger, at scaler.Situation) explainedTrigger {
	out := explainedTrigger{Path: t.path, Type: t.kind, Skipped: t.skipped, Error: t.fault, Remarks: t.remarks}
	if t.skipped != "" || t.fault != "" {
		return out
	}
	at.Multiplied = t.metric == "Value"
	got, target, err := p.ask(ctx, id, t, at)
	if err != nil {
		out.Error = status.Convert(p.scaler.Status(err)).Message()
		return out
	}
	query := viewQuery(&got.Query)
	out.Query, out.Target, out.Why = &query, target, got.Why
	if got.Err != nil {
		out.Error = got.Err.Error()
		return out
	}
	held := make([]scaler.HeldQueue, len(got.Queues.Queues))
	for i, q := range got.Queues.Queues {
		held[i] = scaler.HeldQueue{Queue: q, At: got.Queues.At}
	}
	view := viewQueues(got.Query.Source, held)
	out.Active, out.Queues, out.LeftOut = &got.Active, view.Queues, view.LeftOut
	if got.ValueErr != nil {
		out.Error = got.ValueErr.Error()
		return out
	}
	out.Value, out.Replicas = &got.Value, &got.Replicas
	return out
}

// ask explains a trigger by the way that KEDA asks; target is what counts.
func (p *Page) ask(
	ctx context.Context, id scaler.Identity, t *trigger, at scaler.Situation,
) (e scaler.Explanation, target float64, err error) {
	if t.over != nil {
		e, err = web.Explain(ctx, p.scaler, id, *t.over, at)
		return e, t.over.Target, err
	}
	e, err = p.scaler.Explain(ctx, id, t.metadata, at)
	return e, e.Query.Target, err
}
