package scaler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// Situation is how a ScaledObject stands, for [Server.Explain].
type Situation struct {
	Namespace         string
	Current, Min, Max int32 // replicas; Max 0 is KEDA's default of 100
}

// defaultMax is KEDA's maxReplicaCount.
const defaultMax = 100

// An Explanation is what KEDA would be told for a trigger, and why.
type Explanation struct {
	Query    Query
	Value    float64
	Active   bool
	Replicas int32
	Queues   QueueView // those that count
	Why      []string  // the steps, in words
	Err      error     // the queues could not be read: Value, Active, Replicas and Queues say nothing
	ValueErr error     // the metric could not be computed: Value and Replicas say nothing
}

// Explain says what KEDA would be told for a trigger of this metadata. It fails where KEDA's calls would be refused;
// where they would be Unavailable, the Explanation's Err says so.
func (s *Server) Explain(ctx context.Context, id Identity, metadata map[string]string, at Situation) (Explanation, error) {
	if at.Max == 0 {
		at.Max = max(defaultMax, at.Min)
	}
	q, err := s.ask(id, at.Namespace, metadata)
	if err != nil {
		return Explanation{}, err
	}
	e := Explanation{Query: q}
	e.becausef("the trigger asks for %s", q.Describe())
	src := s.sources[q.Source]
	view, err := src.get(ctx, &q)
	if err != nil {
		e.Err = err
		e.becausef("it cannot be answered: KEDA gets Unavailable and keeps the replicas, or uses the object's fallback")
		return e, nil //nolint:nilerr // the Explanation says so
	}
	e.Queues = QueueView{Source: q.Source, Queues: counted(&q, view.Queues), At: view.At, Stale: view.Err}
	if view.Err != nil {
		e.becausef("the source cannot be read now (%v); the sample of %s ago answers", view.Err, time.Since(view.At).Round(time.Second))
	}
	e.decide(decide(&q, view.Queues), at)
	return e, nil
}

// counted returns the queues that q asks for.
func counted(q *Query, queues []driver.Queue) []driver.Queue {
	_, exact := q.Names()
	return slices.DeleteFunc(slices.Clone(queues), func(queue driver.Queue) bool {
		return !exact && !q.Match(queue.Name)
	})
}

func (e *Explanation) becausef(format string, args ...any) {
	e.Why = append(e.Why, fmt.Sprintf(format, args...))
}

// decide tells the steps from the counts to the replicas.
func (e *Explanation) decide(d decision, at Situation) {
	q := &e.Query
	e.sayCounts(&d)
	e.Active = d.active
	kind := "ready + running"
	if !q.ActiveWhileRunning {
		kind = "ready (activeWhileRunning is false)"
	}
	if d.active {
		e.becausef("active: %s = %d is greater than activation %g", kind, d.activity(q), q.Activation)
	} else {
		e.becausef("not active: %s = %d is not greater than activation %g", kind, d.activity(q), q.Activation)
	}
	value, err := d.value(q)
	if err != nil {
		e.ValueErr = err
		e.becausef("there is no value: %v", err)
		return
	}
	e.Value = value
	if uncapped, _ := d.measure(q.Metric); uncapped != value {
		e.becausef("value: %s = %g, capped to %g", q.Metric, uncapped, value)
	} else {
		e.becausef("value: %s = %g", q.Metric, value)
	}
	e.sayReplicas(at)
}

// sayCounts says what was found, and what looks wrong about it.
func (e *Explanation) sayCounts(d *decision) {
	e.becausef("found %s: %d ready, %d running, %d scheduled", plural(d.queues, "queue"), d.ready, d.running, d.scheduled)
	if d.saturated {
		e.becausef("a count stopped at the source's countLimit; in truth there are more")
	}
	if d.paused > 0 {
		e.becausef("%s paused: their jobs are not ready", plural(d.paused, "queue"))
	}
	var unknown []string
	for i := range e.Queues.Queues {
		if !e.Queues.Queues[i].Known {
			unknown = append(unknown, fmt.Sprintf("%q", e.Queues.Queues[i].Name))
		}
	}
	if len(unknown) > 0 {
		e.becausef("the source has no trace of %s: is the name right?", strings.Join(unknown, ", "))
	}
	if d.ready == 0 && d.nextDue > 0 {
		e.becausef("the next scheduled job is due in %s", d.nextDue.Round(time.Millisecond))
	}
}

// sayReplicas says what KEDA and the HPA make of value and activity.
func (e *Explanation) sayReplicas(at Situation) {
	q := &e.Query
	switch {
	case !e.Active:
		e.Replicas = at.Min
		e.becausef("replicas: %d, the minimum, once KEDA's cooldownPeriod is over (now %d)", at.Min, at.Current)
	default:
		e.Replicas = replicas(e.Value, q.Target, max(at.Min, 1), at.Max)
		e.becausef("replicas: %g / target %g, rounded up, within %d and %d: %d (now %d)",
			e.Value, q.Target, max(at.Min, 1), at.Max, e.Replicas, at.Current)
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
