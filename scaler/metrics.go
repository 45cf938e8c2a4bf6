package scaler

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what the server counts as it goes. What it can tell at any time, such as the depth of a queue, is in
// collect.go and costs nothing until it is scraped.
type metrics struct {
	wakes   *prometheus.CounterVec
	latency *prometheus.HistogramVec
	signals *prometheus.CounterVec
	samples *prometheus.HistogramVec
	errors  *prometheus.CounterVec
	calls   *calls
}

// Labels of the server's metrics.
const (
	labelSource = "source"
	labelQueue  = "queue"
	labelState  = "state"
	labelKind   = "kind"
	labelMode   = "mode"
	labelReason = "reason"
)

func newMetrics() *metrics {
	bySource := []string{labelSource}
	return &metrics{
		wakes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "leadsman_wakes_total",
			Help: "How often true was sent on a StreamIsActive stream.",
		}, bySource),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "leadsman_wake_latency_seconds",
			Help:    "From the signal that a queue may have changed to the true on the stream, of the wakes that a signal caused.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}, bySource),
		signals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "leadsman_signals_total",
			Help: "Signals that a queue may have changed, of the source's own and of producers.",
		}, bySource),
		samples: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "leadsman_sample_duration_seconds",
			Help:    "How long reads of the source took, those that failed included.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}, bySource),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "leadsman_sample_errors_total",
			Help: "Reads of the source that failed, by kind: unavailable, timeout, denied, schema, contract.",
		}, []string{labelSource, labelKind}),
		calls: newCalls(),
	}
}

// register makes the metrics of s known to a registerer.
func (m *metrics) register(s *Server, to prometheus.Registerer) error {
	for _, c := range []prometheus.Collector{
		m.wakes, m.latency, m.signals, m.samples, m.errors, m.calls.started, m.calls.handled, m.calls.seconds, collector{s},
	} {
		if err := to.Register(c); err != nil {
			return fmt.Errorf("scaler: metrics: %w", err)
		}
	}
	return nil
}

// A meter is the part of the metrics that is one source's. Its series are there from the start, at zero.
type meter struct {
	wakes, signals   prometheus.Counter
	latency, samples prometheus.Observer
	errors           *prometheus.CounterVec // by kind
}

// errorKinds are those of driver.Kind.
var errorKinds = [...]string{"unavailable", "timeout", "denied", "schema", "contract"}

func (m *metrics) of(source string) meter {
	out := meter{
		wakes: m.wakes.WithLabelValues(source), signals: m.signals.WithLabelValues(source),
		latency: m.latency.WithLabelValues(source), samples: m.samples.WithLabelValues(source),
		errors: m.errors.MustCurryWith(prometheus.Labels{labelSource: source}),
	}
	for _, kind := range errorKinds {
		out.errors.WithLabelValues(kind)
	}
	return out
}

// sampled notes a read.
func (m *meter) sampled(took time.Duration, err error) {
	m.samples.Observe(took.Seconds())
	if err != nil {
		m.errors.WithLabelValues(kindOf(err)).Inc()
	}
}

// woke notes a true that was sent; took is 0 when no signal had caused it.
func (m *meter) woke(took time.Duration) {
	m.wakes.Inc()
	if took > 0 {
		m.latency.Observe(took.Seconds())
	}
}
