package page

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/leadsman/leadsman/scaler"
)

// What follows are the messages of the event stream. Times are Unix milliseconds by the server's clock, 0 for never;
// ages are for the browser to tell.

// Bounds of what is shown; a message says how many it leaves out.
const (
	maxQueues   = 200 // of one source
	maxTriggers = 200
)

type sourceView struct {
	Name       string             `json:"name"`
	Engine     string             `json:"engine"`
	Preset     string             `json:"preset"`
	Location   string             `json:"location"`
	State      scaler.SourceState `json:"state"`
	Error      string             `json:"error,omitempty"`
	Read       int64              `json:"read"`
	TookMillis float64            `json:"tookMillis"`
	PushMode   string             `json:"pushMode"`
	PushReason string             `json:"pushReason,omitempty"`
	PushSince  int64              `json:"pushSince"`
	Notes      []string           `json:"notes,omitempty"`
	Failures   int64              `json:"failures"`
	Streams    int                `json:"streams"`
	Waiting    int                `json:"waiting"`
}

func viewSources(all []scaler.SourceStatus) []sourceView {
	out := make([]sourceView, len(all))
	for i := range all {
		s := &all[i]
		out[i] = sourceView{
			Name: s.Name, Engine: s.Traits.Engine, Preset: s.Traits.Preset, Location: s.Traits.Location, State: s.State,
			Read: millis(s.Samples.LastRead), TookMillis: fraction(s.Samples.Took),
			PushMode: string(s.PushMode), PushReason: s.PushReason, PushSince: millis(s.PushSince),
			Notes: s.Samples.Notes, Failures: s.Samples.Failures, Streams: s.Streams, Waiting: s.Waiting,
		}
		if s.Samples.Err != nil {
			out[i].Error = s.Samples.Err.Error()
		}
	}
	return out
}

// queuesView is the queues of one source.
type queuesView struct {
	Source  string      `json:"source"`
	Queues  []queueView `json:"queues"`
	LeftOut int         `json:"leftOut"`
}

type queueView struct {
	Name      string `json:"name"`
	Known     bool   `json:"known"`
	Ready     int64  `json:"ready"`
	Running   int64  `json:"running"`
	Scheduled int64  `json:"scheduled"`
	Saturated bool   `json:"saturated,omitempty"`
	Waits     int64  `json:"waits"` // since when the oldest ready job waits
	Due       int64  `json:"due"`   // when the next scheduled one is
	Paused    bool   `json:"paused,omitempty"`
	Workers   *int64 `json:"workers,omitempty"` // absent where there is no registry of them
	Capacity  *int64 `json:"capacity,omitempty"`
}

// viewQueues shows the queues first that somebody asks for by name, where there are too many for all.
func viewQueues(source string, held []scaler.HeldQueue) queuesView {
	out := queuesView{Source: source, LeftOut: max(0, len(held)-maxQueues), Queues: []queueView{}}
	if out.LeftOut > 0 {
		slices.SortStableFunc(held, func(a, b scaler.HeldQueue) int { return cmp.Compare(rank(a), rank(b)) })
		held = held[:maxQueues]
	}
	for i := range held {
		out.Queues = append(out.Queues, viewQueue(&held[i]))
	}
	return out
}

func viewQueue(q *scaler.HeldQueue) queueView {
	out := queueView{
		Name: q.Name, Known: q.Known, Ready: q.Ready, Running: q.Running, Scheduled: q.Scheduled,
		Saturated: q.Saturated, Paused: q.Paused,
	}
	// To the second: what is told anew only because a clock is read twice is no news.
	if q.Oldest > 0 {
		out.Waits = millis(q.At.Add(-q.Oldest).Truncate(time.Second))
	}
	if q.NextDue > 0 {
		out.Due = millis(q.At.Add(q.NextDue).Round(time.Second))
	}
	if q.Pool != nil {
		out.Workers, out.Capacity = &q.Pool.Workers, &q.Pool.Capacity
	}
	return out
}

type triggersView struct {
	Triggers []triggerView `json:"triggers"`
	LeftOut  int           `json:"leftOut"`
}

type triggerView struct {
	Namespace  string    `json:"namespace"`
	Object     string    `json:"object"`
	Query      queryView `json:"query"`
	Value      *float64  `json:"value,omitempty"` // absent before the first
	Active     *bool     `json:"active,omitempty"`
	Replicas   *int64    `json:"replicas,omitempty"` // that value and activity imply, before the object's bounds
	Streams    int       `json:"streams"`
	Wakes      int64     `json:"wakes"`
	Woken      int64     `json:"woken"`
	TookMillis float64   `json:"tookMillis"` // from the signal to the last wake that a signal caused; 0 before the first
	Asked      int64     `json:"asked"`
	Error      string    `json:"error,omitempty"`
}

type queryView struct {
	Source     string   `json:"source"`
	Queues     []string `json:"queues"` // none is all
	Metric     string   `json:"metric"`
	Name       string   `json:"name"`
	Target     float64  `json:"target"`
	Activation float64  `json:"activation"`
	Max        float64  `json:"max,omitempty"` // absent for none
	ReadyOnly  bool     `json:"readyOnly,omitempty"`
	Linger     int64    `json:"linger,omitempty"`    // milliseconds
	Lookahead  int64    `json:"lookahead,omitempty"` // milliseconds
	Says       string   `json:"says"`                // in words
}

// viewTriggers shows some of all the triggers that there are.
func viewTriggers(some []scaler.TriggerStatus, total int) triggersView {
	out := triggersView{LeftOut: total - len(some), Triggers: make([]triggerView, len(some))}
	for i := range some {
		out.Triggers[i] = viewTrigger(&some[i])
	}
	return out
}

func viewTrigger(t *scaler.TriggerStatus) triggerView {
	out := triggerView{
		Namespace: t.Namespace, Object: t.Object, Query: viewQuery(&t.Query),
		Streams: t.Streams, Wakes: t.Wakes, Woken: millis(t.WokenAt), TookMillis: fraction(t.WakeTook), Asked: millis(t.AskedAt),
	}
	if !t.ValueAt.IsZero() {
		out.Value = &t.Value
	}
	if !t.ActiveAt.IsZero() {
		out.Active = &t.Active
	}
	if out.Value != nil && out.Active != nil {
		out.Replicas = implied(t.Value, t.Query.Target, t.Active)
	}
	if t.Err != nil {
		out.Error = t.Err.Error()
	}
	return out
}

func viewQuery(q *scaler.Query) queryView {
	return queryView{
		Source: q.Source, Queues: q.Patterns(), Metric: string(q.Metric), Name: q.Name, Target: q.Target,
		Activation: q.Activation, Max: q.Max, ReadyOnly: !q.ActiveWhileRunning,
		Linger: q.Linger.Milliseconds(), Lookahead: q.Lookahead.Milliseconds(), Says: q.Describe(),
	}
}

// implied is what the HPA makes of a value by the AverageValue formula: at least one replica where the trigger is
// active, and none where it is not.
func implied(value, target float64, active bool) *int64 {
	n := int64(0)
	if active {
		n = int64(max(1, math.Ceil(value/target)))
	}
	return &n
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// fraction is d in milliseconds, to the microsecond.
func fraction(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
