package inspect

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/driver"
)

func sourceMessage(s *scaler.SourceStatus) *leadsmanv1.Source {
	out := &leadsmanv1.Source{
		Name: s.Name, Engine: s.Traits.Engine, Preset: s.Traits.Preset, Location: s.Traits.Location,
		State:    leadsmanv1.Source_STATE_IDLE,
		PushMode: string(s.PushMode), PushReason: s.PushReason,
		Reads: s.Samples.Reads, Failures: s.Samples.Failures,
		Streams: int32(s.Streams), StreamsWaiting: int32(s.Waiting), QueuesWanted: int32(s.Samples.Wanted), //nolint:gosec // they fit
		Conditions: []*leadsmanv1.Condition{
			readable(s),
			{
				Type: "Pushed", Status: s.PushMode != driver.ModeEdgePoll,
				Message: strings.TrimSuffix(string(s.PushMode)+": "+s.PushReason, ": "), Since: timestamp(s.PushSince),
			},
		},
	}
	switch {
	case s.Samples.Err != nil:
		out.State = leadsmanv1.Source_STATE_FAILING
	case s.Samples.Reads > 0:
		out.State = leadsmanv1.Source_STATE_READY
	}
	if !s.Samples.LastRead.IsZero() {
		out.SampleAge = durationpb.New(time.Since(s.Samples.LastRead))
		out.SampleTook = durationpb.New(s.Samples.Took)
	}
	for _, note := range s.Samples.Notes {
		out.Conditions = append(out.Conditions, &leadsmanv1.Condition{Type: "Note", Status: true, Message: note})
	}
	return out
}

func readable(s *scaler.SourceStatus) *leadsmanv1.Condition {
	c := &leadsmanv1.Condition{Type: "Readable", Since: timestamp(s.Samples.LastRead)}
	switch {
	case s.Samples.Err != nil:
		c.Message = s.Samples.Err.Error()
	case s.Samples.Reads == 0:
		c.Message = "not read yet: nobody has asked"
	default:
		c.Status = true
	}
	return c
}

func queueMessages(view *scaler.QueueView) []*leadsmanv1.Queue {
	out := make([]*leadsmanv1.Queue, len(view.Queues))
	for i := range view.Queues {
		q := &view.Queues[i]
		m := &leadsmanv1.Queue{
			Source: view.Source, Name: q.Name, Known: q.Known,
			Ready: q.Ready, Running: q.Running, Scheduled: q.Scheduled, Saturated: q.Saturated,
			Oldest: duration(q.Oldest), NextDue: duration(q.NextDue), Paused: q.Paused,
			SampledAt: timestamp(view.At),
		}
		if q.Pool != nil {
			m.Workers, m.Capacity = &q.Pool.Workers, &q.Pool.Capacity
		}
		if view.Stale != nil {
			m.StaleReason = view.Stale.Error()
		}
		out[i] = m
	}
	return out
}

func queryMessage(q *scaler.Query) *leadsmanv1.Query {
	out := &leadsmanv1.Query{
		Source: q.Source, Queues: q.Patterns(), Metric: string(q.Metric), Target: q.Target, Activation: q.Activation,
		ActiveWhileRunning: q.ActiveWhileRunning, Linger: duration(q.Linger), Lookahead: duration(q.Lookahead),
		MetricName: q.Name,
	}
	if q.Max > 0 {
		out.Max = &q.Max
	}
	return out
}

func triggerMessage(t *scaler.TriggerStatus) *leadsmanv1.Trigger {
	out := &leadsmanv1.Trigger{
		Namespace: t.Namespace, Object: t.Object, Query: queryMessage(&t.Query),
		ValueAt: timestamp(t.ValueAt), ActiveAt: timestamp(t.ActiveAt), AskedAt: timestamp(t.AskedAt),
		Streams: int32(t.Streams), //nolint:gosec // it fits
		Wakes:   t.Wakes, WokenAt: timestamp(t.WokenAt), WakeTook: duration(t.WakeTook),
	}
	if !t.ValueAt.IsZero() {
		out.Value = &t.Value
	}
	if !t.ActiveAt.IsZero() {
		out.Active = &t.Active
	}
	if t.Err != nil {
		out.Error = t.Err.Error()
	}
	return out
}

// explainMessage tells an Explanation, with the target that counts.
func explainMessage(e *scaler.Explanation, target float64) *leadsmanv1.ExplainResponse {
	out := &leadsmanv1.ExplainResponse{
		Query: queryMessage(&e.Query), MetricName: e.Query.Name, Target: target,
		Queues: queueMessages(&e.Queues), Why: e.Why,
	}
	if e.Err != nil {
		out.Error = e.Err.Error()
		return out
	}
	out.Active = &e.Active
	if e.ValueErr != nil {
		out.Error = e.ValueErr.Error()
		return out
	}
	out.Value, out.DesiredReplicas = &e.Value, &e.Replicas
	return out
}

// duration and timestamp leave out what is zero.

func duration(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
