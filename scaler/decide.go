package scaler

import (
	"math"
	"time"

	"github.com/leadsman/leadsman/scaler/internal/query"
	"github.com/leadsman/leadsman/storage/driver"
)

// KEDA keeps values in thousandths of an int64, and the HPA keeps value/target in an int32 (kubernetes#126892):
// both wrap silently, so no value goes beyond.
const (
	maxValue = 9e15
	maxRatio = math.MaxInt32 - 1
)

// totals are the queues of one query taken together.
type totals struct {
	ready, running, scheduled int64
	oldest                    time.Duration
	nextDue                   time.Duration // 0 when nothing is scheduled
	saturated                 bool
	known, paused             int // queues
	queues                    int
	pooled                    bool // at least one queue has a registry of workers
	workers, capacity         int64
}

// sum adds up the queues that q asks for.
func sum(q *query.Query, queues []driver.Queue) totals {
	var t totals
	exact := q.Exact()
	for i := range queues {
		if exact || q.Match(queues[i].Name) {
			t.add(&queues[i])
		}
	}
	return t
}

func (t *totals) add(q *driver.Queue) {
	t.queues++
	t.ready += q.Ready
	t.running += q.Running
	t.scheduled += q.Scheduled
	t.oldest = max(t.oldest, q.Oldest)
	t.saturated = t.saturated || q.Saturated
	if q.NextDue > 0 && (t.nextDue == 0 || q.NextDue < t.nextDue) {
		t.nextDue = q.NextDue
	}
	if q.Known {
		t.known++
	}
	if q.Paused {
		t.paused++
	}
	if q.Pool != nil {
		t.pooled = true
		t.workers += q.Pool.Workers
		t.capacity += q.Pool.Capacity
	}
}

// A decision is what a sample means for one query.
type decision struct {
	totals

	active bool
}

// waiting says that there is work and nobody is at it.
func (d *decision) waiting() bool { return d.active && d.ready > 0 && d.running == 0 }

// decide turns a sample into what it means for q.
func decide(q *query.Query, queues []driver.Queue) decision {
	t := sum(q, queues)
	return decision{totals: t, active: float64(t.activity(q)) > q.Activation}
}

// value is the metric's raw total in its unit, capped. It is never divided by the number of replicas: that is the
// HPA's part.
func (t *totals) value(q *query.Query) (float64, error) {
	value, err := t.measure(q.Metric)
	if err != nil {
		return 0, err
	}
	return clamp(value, q), nil
}

// activity is what is held against the activation threshold.
func (t *totals) activity(q *query.Query) int64 {
	if q.ActiveWhileRunning {
		return t.ready + t.running
	}
	return t.ready
}

// measure returns the metric's value, not capped.
func (t *totals) measure(metric query.Metric) (float64, error) {
	switch metric {
	case query.MetricReady:
		return float64(t.ready), nil
	case query.MetricRunning:
		return float64(t.running), nil
	case query.MetricScheduled:
		return float64(t.scheduled), nil
	case query.MetricOldest:
		return t.oldest.Seconds(), nil
	case query.MetricUtilization:
		return t.utilization()
	default: // query.MetricOutstanding
		return float64(t.ready + t.running), nil
	}
}

// utilization is running/capacity. Without any capacity it is 1 while something runs and 0 otherwise.
func (t *totals) utilization() (float64, error) {
	switch {
	case !t.pooled:
		return 0, errNoWorkers
	case t.capacity > 0:
		return float64(t.running) / float64(t.capacity), nil
	case t.running > 0:
		return 1, nil
	default:
		return 0, nil
	}
}

// clamp applies the trigger's own cap and those of KEDA and the HPA.
func clamp(value float64, q *query.Query) float64 {
	if q.Max > 0 {
		value = min(value, q.Max)
	}
	return min(max(value, 0), maxValue, q.Target*maxRatio)
}

// replicas is what the HPA makes of a value by the AverageValue formula, within the object's bounds; it ignores the
// HPA's tolerance, which depends on how many replicas there are.
func replicas(value, target float64, lowest, highest int32) int32 {
	n := math.Ceil(value / target)
	return int32(min(max(n, float64(lowest)), float64(highest)))
}
