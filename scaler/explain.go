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
	// Multiplied says that the trigger's metricType is Value: the HPA multiplies the replicas there are by value/target, and
	// does not take the value for what replicas share.
	Multiplied bool
}

// defaultMax is KEDA's maxReplicaCount.
const defaultMax = 100

// An Explanation is what KEDA would be told for a trigger, and why.
type Explanation struct {
	Answer // Queues are those that count

	Replicas int32
	Why      []string // the steps, in words
	Err      error    // there is no answer: but for Query, the Answer and Replicas say nothing
	ValueErr error    // the metric could not be computed: Value and Replicas say nothing
}

// Explain says what KEDA would be told for a trigger of this metadata. It fails where KEDA's calls would be refused;
// where they would be Unavailable, the Explanation's Err says so.
func (s *Server) Explain(ctx context.Context, id Identity, metadata map[string]string, at Situation) (Explanation, error) {
	e, d, err := s.survey(ctx, id, metadata, at)
	switch {
	case err != nil:
		return Explanation{}, err
	case e.Err != nil:
		e.Becausef("it cannot be answered: KEDA gets Unavailable and keeps the replicas, or uses the object's fallback")
	default:
		e.decide(&d, at)
	}
	return e, nil
}

// ExplainAnswer begins an Explanation of what [Server.Ask] answers. What is made of it is for those to say who ask over
// HTTP: it ends with what was found, and where Err and ValueErr are nil the Answer is complete. It leaves no trace among
// the triggers.
func (s *Server) ExplainAnswer(ctx context.Context, id Identity, metadata map[string]string, at Situation) (Explanation, error) {
	e, _, err := s.survey(ctx, id, metadata, at)
	return e, err
}

// survey says what is asked and what there is of it.
func (s *Server) survey(
	ctx context.Context, id Identity, metadata map[string]string, at Situation,
) (Explanation, decision, error) {
	q, err := s.ask(id, at.Namespace, metadata)
	if err != nil {
		return Explanation{}, decision{}, err
	}
	e := Explanation{Answer: Answer{Query: q}}
	e.Becausef("the trigger asks for %s", q.Describe())
	view, err := s.sources[q.Source].get(ctx, &q)
	if err != nil {
		e.Err = err
		return e, decision{}, nil //nolint:nilerr // the Explanation says so
	}
	d := decide(&q, view.Queues)
	e.Answer, e.ValueErr = newAnswer(&q, &view, &d)
	if view.Err != nil {
		e.Becausef("the source cannot be read now (%v); the sample of %s ago answers", view.Err, time.Since(view.At).Round(time.Second))
	}
	e.sayCounts(&d)
	return e, d, nil
}

// counted returns the queues that q asks for.
func counted(q *Query, queues []driver.Queue) []driver.Queue {
	_, exact := q.Names()
	return slices.DeleteFunc(slices.Clone(queues), func(queue driver.Queue) bool {
		return !exact && !q.Match(queue.Name)
	})
}

// Becausef adds a step.
func (e *Explanation) Becausef(format string, args ...any) {
	e.Why = append(e.Why, fmt.Sprintf(format, args...))
}

// decide tells the steps from the counts to the replicas.
func (e *Explanation) decide(d *decision, at Situation) {
	q := &e.Query
	kind := "ready + running"
	if !q.ActiveWhileRunning {
		kind = "ready (activeWhileRunning is false)"
	}
	if d.active {
		e.Becausef("active: %s = %d is greater than activation %g", kind, d.activity(q), q.Activation)
	} else {
		e.Becausef("not active: %s = %d is not greater than activation %g", kind, d.activity(q), q.Activation)
	}
	if e.ValueErr != nil {
		e.Becausef("there is no value: %v", e.ValueErr)
		return
	}
	if uncapped, _ := d.measure(q.Metric); uncapped != e.Value {
		e.Becausef("value: %s = %g, capped to %g", q.Metric, uncapped, e.Value)
	} else {
		e.Becausef("value: %s = %g", q.Metric, e.Value)
	}
	e.Imply(q.Target, at)
}

// sayCounts says what was found, and what looks wrong about it.
func (e *Explanation) sayCounts(d *decision) {
	e.Becausef("found %s: %d ready, %d running, %d scheduled", plural(d.queues, "queue"), d.ready, d.running, d.scheduled)
	if d.saturated {
		e.Becausef("a count stopped at the source's countLimit; in truth there are more")
	}
	if d.paused > 0 {
		e.Becausef("%s paused: their jobs are not ready", plural(d.paused, "queue"))
	}
	var unknown []string
	for i := range e.Queues.Queues {
		if !e.Queues.Queues[i].Known {
			unknown = append(unknown, fmt.Sprintf("%q", e.Queues.Queues[i].Name))
		}
	}
	if len(unknown) > 0 {
		e.Becausef("the source has no trace of %s: is the name right?", strings.Join(unknown, ", "))
	}
	if d.ready == 0 && d.nextDue > 0 {
		e.Becausef("the next scheduled job is due in %s", d.nextDue.Round(time.Millisecond))
	}
}

// Imply says what KEDA and the HPA make of Value, by a target, and of Active.
func (e *Explanation) Imply(target float64, at Situation) {
	if at.Max == 0 {
		at.Max = max(defaultMax, at.Min)
	}
	lowest := max(at.Min, 1)
	switch there := max(at.Current, lowest); {
	case !e.Active:
		e.Replicas = at.Min
		e.Becausef("replicas: %d, the minimum, once KEDA's cooldownPeriod is over (now %d)", at.Min, at.Current)
	case at.Multiplied:
		e.Replicas = replicas(float64(there)*e.Value, target, lowest, at.Max)
		e.Becausef("replicas: metricType Value multiplies those there are: %d × %g / target %g, rounded up, within %d and %d: %d (now %d)",
			there, e.Value, target, lowest, at.Max, e.Replicas, at.Current)
	default:
		e.Replicas = replicas(e.Value, target, lowest, at.Max)
		e.Becausef("replicas: %g / target %g, rounded up, within %d and %d: %d (now %d)",
			e.Value, target, lowest, at.Max, e.Replicas, at.Current)
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
