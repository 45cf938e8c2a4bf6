package scaler

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/leadsman/leadsman/scaler/internal/sample"
	"github.com/leadsman/leadsman/storage/driver"
)

// A collector tells Prometheus what the queues look like at the moment of a scrape. It keeps no series: a queue that
// the source no longer has, and that nobody asks for, is gone with the next scrape.
//
// A scrape is one more that asks, for every queue, and is answered from the sample that KEDA is answered from. Where a
// read fails, it gets what KEDA gets: the last good sample until that is too old, with leadsman_source_up at 0 and the
// age beside it, and no series after that. Nothing that was not read is ever 0.
type collector struct{ server *Server }

// maxLabel is the longest name of a queue, in bytes, that becomes a label.
const maxLabel = 200

// Why queues are left out.
const (
	leftOverLimit = "limit" // there are more than MaxMetricQueues
	leftUnfit     = "name"  // its name is too long, or is not UTF-8
)

// States of jobs and of places for them at workers.
const (
	jobsReady     = "ready"
	jobsRunning   = "running"
	jobsScheduled = "scheduled"
	slotsBusy     = "busy"
	slotsIdle     = "idle"
)

// What a collector tells: of a queue, of a source, and of the server.
var (
	descJobs      = ofQueue("leadsman_queue_jobs", "Jobs of the queue: ready, running, scheduled.", labelState)
	descOldest    = ofQueue("leadsman_queue_oldest_seconds", "How long the oldest ready job has waited; 0 when none is ready.")
	descPaused    = ofQueue("leadsman_queue_paused", "Whether the library hands out no jobs of the queue.")
	descSaturated = ofQueue("leadsman_queue_saturated", "Whether a count stopped at countLimit and is greater in truth.")
	descWorkers   = ofQueue("leadsman_workers", "Live workers of the queue, where the library keeps a registry.")
	descSlots     = ofQueue("leadsman_worker_slots", "Jobs that the queue's workers can run at once: busy and idle.", labelState)
	descUp        = ofSource("leadsman_source_up", "Whether the last read of the source was good.")
	descAge       = ofSource("leadsman_sample_age_seconds", "Time since the newest good read of the source began.")
	descStreams   = ofSource("leadsman_streams", "Open streams on the source's queues.")
	descWaiting   = ofSource("leadsman_streams_waiting", "Open streams that wait for a job.")
	descMode      = ofSource("leadsman_push_mode", "How changes of the source are noticed: 1 for the mode in force.", labelMode)
	descLeftOut   = ofSource("leadsman_queues_left_out", "Queues without series: too many, or a name that is no label.", labelReason)
	descTriggers  = prometheus.NewDesc("leadsman_triggers", "Triggers that are remembered.", nil, nil)
)

func ofQueue(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{labelSource, labelQueue}, more...), nil)
}

func ofSource(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{labelSource}, more...), nil)
}

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		descJobs, descOldest, descPaused, descSaturated, descWorkers, descSlots, descUp, descAge, descStreams, descWaiting,
		descMode, descLeftOut, descTriggers,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	c.sample()
	for _, src := range c.server.order {
		c.source(ch, src)
	}
	gauge(ch, descTriggers, float64(c.server.triggers.count()))
}

// sample has every source sampled, all at once and each within the time of a call.
func (c collector) sample() {
	ctx, cancel := context.WithTimeout(context.Background(), c.server.opts.Timeout)
	defer cancel()
	var reads sync.WaitGroup
	for _, src := range c.server.order {
		reads.Go(func() {
			view, err := src.samples.Get(ctx, []driver.Want{{}})
			src.note(ctx, err, view.Err)
		})
	}
	reads.Wait()
}

func (c collector) source(ch chan<- prometheus.Metric, src *source) {
	name := src.Name()
	st := src.samples.Status()
	if !st.Tried.IsZero() {
		gauge(ch, descUp, boolean(st.Err == nil), name)
	}
	if !st.LastRead.IsZero() {
		gauge(ch, descAge, time.Since(st.LastRead).Seconds(), name)
	}
	open, armed := c.server.hub.Subs(name)
	gauge(ch, descStreams, float64(open), name)
	gauge(ch, descWaiting, float64(armed), name)
	mode, _, _ := src.pushMode()
	gauge(ch, descMode, 1, name, string(mode))
	c.queues(ch, src)
}

// queues tells of as many queues as are allowed, of those first that somebody asks for by name, and of these in the order
// in which they came: what an autoscaler follows must not vanish because others have come, whatever they are called.
func (c collector) queues(ch chan<- prometheus.Metric, src *source) {
	known := src.samples.Known()
	all := len(known)
	known = slices.DeleteFunc(known, func(q sample.Known) bool { return len(q.Name) > maxLabel || !utf8.ValidString(q.Name) })
	gauge(ch, descLeftOut, float64(all-len(known)), src.Name(), leftUnfit)
	over := max(0, len(known)-c.server.opts.MaxMetricQueues)
	gauge(ch, descLeftOut, float64(over), src.Name(), leftOverLimit)
	if over > 0 {
		slices.SortStableFunc(known, func(a, b sample.Known) int {
			return cmp.Or(-cmp.Compare(boolean(a.Asked), boolean(b.Asked)), a.Since.Compare(b.Since))
		})
	}
	for i := range known[:len(known)-over] {
		queueMetrics(ch, src.Name(), &known[i].Queue)
	}
}

func queueMetrics(ch chan<- prometheus.Metric, source string, q *driver.Queue) {
	gauge(ch, descJobs, float64(q.Ready), source, q.Name, jobsReady)
	gauge(ch, descJobs, float64(q.Running), source, q.Name, jobsRunning)
	gauge(ch, descJobs, float64(q.Scheduled), source, q.Name, jobsScheduled)
	gauge(ch, descOldest, q.Oldest.Seconds(), source, q.Name)
	gauge(ch, descPaused, boolean(q.Paused), source, q.Name)
	gauge(ch, descSaturated, boolean(q.Saturated), source, q.Name)
	if q.Pool != nil {
		busy := min(q.Running, q.Pool.Capacity)
		gauge(ch, descWorkers, float64(q.Pool.Workers), source, q.Name)
		gauge(ch, descSlots, float64(busy), source, q.Name, slotsBusy)
		gauge(ch, descSlots, float64(q.Pool.Capacity-busy), source, q.Name, slotsIdle)
	}
}

func gauge(ch chan<- prometheus.Metric, desc *prometheus.Desc, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
