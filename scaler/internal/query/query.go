// Package query turns a trigger's metadata into a Query: what one trigger of a ScaledObject or ScaledJob asks of
// which queues, in a form that can be compared, and the name of the metric that answers it.
//
// KEDA sends the whole metadata of a trigger with every call, and says neither which trigger it is nor that it has
// called before. So [Parse] runs on every RPC, is pure, does no I/O and needs no state; and the Query it returns is
// the identity of the trigger: two metadata maps that mean the same give equal Queries, on every replica, whatever
// the order of their queues or the spelling of their numbers. A Query is a map key for all that is remembered.
//
// Metadata is written by tenants. It names a source that the server has configured and can never name a host. What
// is wrong with it is said all at once, by key, with what would be right; an [Error] shows no token, and no value
// that looks like a connection string.
//
// KEDA resolves a key that ends in FromEnv from the environment of the scaled workload and leaves the suffix on, so
// every key is also known with it; the plain key wins when both are there. KEDA drops such a key when the variable
// is missing or empty, which cannot be seen here: the key's default then holds (for queueFromEnv: all queues).
//
// Who asks over HTTP writes the same keys into a URL; [FromURL] makes metadata of one.
//
// The package has no goroutine and imports the standard library only.
package query

import (
	"strconv"
	"strings"
	"time"
)

// Metric is the number that a trigger follows.
type Metric string

// The metrics a trigger may ask for.
const (
	MetricReady       Metric = "ready"       // jobs that a worker could start now
	MetricRunning     Metric = "running"     // jobs that a worker has claimed
	MetricOutstanding Metric = "outstanding" // ready + running; the default
	MetricScheduled   Metric = "scheduled"   // jobs due later
	MetricOldest      Metric = "oldest"      // seconds that the oldest ready job has waited
	MetricUtilization Metric = "utilization" // running / capacity of the workers
)

// A Source is what Parse needs to know of a configured source.
type Source struct {
	Name string
	// NoLookahead is set when the source cannot count jobs that are due soon.
	NoLookahead bool
	// CountLimit is where the source's counts stop; 0 is nowhere. An activation beyond it could not be told.
	CountLimit int64
}

// A Query is what one trigger asks. It is comparable, and equal to the Query of any other metadata of the same
// meaning. Make one with [Parse] only: the methods rely on Queues being canonical.
type Query struct {
	// Source names a configured source.
	Source string
	// Queues holds the distinct queue patterns, each escaped, sorted and joined by commas; "" means all queues.
	Queues string
	Metric Metric
	// Target is the metric's value that one replica is to handle, from 0.001 to 9e15.
	Target float64
	// Activation is what the activity must exceed for the trigger to be active, from 0 to 9e15.
	Activation float64
	// Max caps the metric's value, from 0.001 to 9e15; 0 means no cap.
	Max float64
	// ActiveWhileRunning makes running jobs count as activity.
	ActiveWhileRunning bool
	// Linger is how long the trigger stays active after the last activity seen, at most 24 h.
	Linger time.Duration
	// Lookahead makes jobs that are due within it count as ready, at most 24 h.
	Lookahead time.Duration
	// Name is the metric's name: the one given by the key "name", or one derived from source, queues and metric.
	Name string
}

// Sizes beyond which Describe cuts.
const (
	describedPatterns = 3
	describedBytes    = 60
)

// Describe says in a few words what q asks, for people: "ready+running of mail-* in source mail".
func (q Query) Describe() string {
	var b strings.Builder
	b.WriteString(q.Metric.describe())
	b.WriteString(" of ")
	patterns := q.Patterns()
	for i, pattern := range patterns {
		if i == describedPatterns {
			b.WriteString(" and " + strconv.Itoa(len(patterns)-i) + " more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(clip(pattern, describedBytes))
	}
	if len(patterns) == 0 {
		b.WriteString("all queues")
	}
	b.WriteString(" in source " + q.Source)
	if q.Lookahead > 0 {
		b.WriteString(", jobs due within " + q.Lookahead.String() + " included")
	}
	return b.String()
}

func (m Metric) describe() string {
	switch m {
	case MetricOutstanding:
		return "ready+running"
	case MetricOldest:
		return "age of the oldest ready job"
	case MetricUtilization:
		return "running/capacity"
	default:
		return string(m)
	}
}
