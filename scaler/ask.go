package scaler

import (
	"context"
	"time"

	"github.com/leadsman/leadsman/scaler/internal/sample"
	"github.com/leadsman/leadsman/storage/driver"
)

// An Answer is what somebody is told who is not KEDA's external scaler: a script, or KEDA's metrics-api trigger.
type Answer struct {
	Query  Query
	Value  float64 // as GetMetrics has it
	Active bool    // as IsActive has it
	Queues QueueView
	// Running counts the running jobs of Queues.
	Running int64
	// Pool is all their workers together; nil when the source keeps no registry of them.
	Pool *driver.Pool
}

// Ask answers a trigger of this metadata, from the sample that KEDA's calls are answered from, to somebody of this
// identity. asker stands for the object's name among the [Server.Triggers]. Where there is no value, Ask fails: an
// error never looks like an empty queue.
func (s *Server) Ask(ctx context.Context, id Identity, asker string, metadata map[string]string) (Answer, error) {
	q, err := s.ask(id, "", metadata)
	if err != nil {
		return Answer{}, err
	}
	t := s.triggers.get(triggerKey{name: asker, query: q}, time.Now())
	answer, err := s.answer(ctx, &q)
	now := time.Now()
	if err != nil {
		t.failed(now, err)
		return Answer{}, err
	}
	answer.Active = t.sawActivity(now, answer.Active)
	t.answered(now, func(t *trigger) {
		t.value, t.valueAt, t.active, t.activeAt = answer.Value, now, answer.Active, now
	})
	return answer, nil
}

func (s *Server) answer(ctx context.Context, q *Query) (Answer, error) {
	view, err := s.sources[q.Source].get(ctx, q)
	if err != nil {
		return Answer{}, err
	}
	d := decide(q, view.Queues)
	return newAnswer(q, &view, &d)
}

// newAnswer is what a decision comes to. Where the metric cannot be computed, an error comes with all but the value.
func newAnswer(q *Query, view *sample.View, d *decision) (Answer, error) {
	answer := Answer{
		Query: *q, Active: d.active, Running: d.running,
		Queues: QueueView{Source: q.Source, Queues: counted(q, view.Queues), At: view.At, Stale: view.Err},
	}
	if d.pooled {
		answer.Pool = &driver.Pool{Workers: d.workers, Capacity: d.capacity}
	}
	var err error
	answer.Value, err = d.value(q)
	return answer, err
}
