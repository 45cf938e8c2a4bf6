package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// An observer counts and logs requests, and answers those whose handler panics. It never sees a query string in a log
// line: tokens travel there.
type observer struct {
	mux      *http.ServeMux // tells the route
	next     http.Handler
	log      *slog.Logger
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newObserver(mux *http.ServeMux, next http.Handler, opts *Options) (*observer, error) {
	o := &observer{
		mux: mux, next: next, log: opts.Logger,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "leadsman_http_requests_total", Help: "HTTP requests that were answered.",
		}, []string{"route", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "leadsman_http_request_duration_seconds", Help: "How long HTTP requests took.",
			Buckets: []float64{.001, .005, .01, .05, .1, .5, 1, 2.5, 5},
		}, []string{"route"}),
	}
	if opts.Metrics == nil {
		return o, nil
	}
	for _, c := range []prometheus.Collector{o.requests, o.duration} {
		if err := opts.Metrics.Register(c); err != nil {
			return nil, fmt.Errorf("web: metrics: %w", err)
		}
	}
	return o, nil
}

// ServeHTTP implements http.Handler.
func (o *observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	seen := &recorder{ResponseWriter: w}
	_, route := o.mux.Handler(r)
	defer func() {
		if fault := recover(); fault != nil {
			o.broke(seen, fault)
		}
		took := time.Since(began)
		o.requests.WithLabelValues(route, strconv.Itoa(seen.status())).Inc()
		if w.Header().Get("Content-Type") != "text/event-stream" { // it lasts for as long as somebody looks
			o.duration.WithLabelValues(route).Observe(took.Seconds())
		}
		o.log.Debug("http request", "method", r.Method, "path", clip(r.URL.Path), "status", seen.status(), "took", took,
			"bytes", seen.bytes, "peer", r.RemoteAddr)
	}()
	o.next.ServeHTTP(seen, r)
}

// broke ends a request whose handler has panicked. One that has begun to answer is cut off, so that its half cannot
// pass for the whole.
func (o *observer) broke(w *recorder, fault any) {
	if fault != http.ErrAbortHandler { //nolint:errorlint,err113 // the very value, as net/http has it
		o.log.Error("a request failed for an unexpected reason", "panic", fault, "stack", string(debug.Stack()))
	}
	if w.code != 0 {
		panic(http.ErrAbortHandler)
	}
	refuse(w, http.StatusInternalServerError, "internal", "internal error; the server's log has the reason")
}

// clip bounds what a caller's own text adds to a log line.
func clip(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}

// A recorder notes what was answered.
type recorder struct {
	http.ResponseWriter

	code  int // 0 before anything was
	bytes int64
}

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(code int) {
	if r.code == 0 && code >= http.StatusOK {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	if r.code == 0 {
		r.code = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap gives http.ResponseController what it controls: flushing and deadlines of a stream.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) status() int {
	if r.code == 0 {
		return http.StatusOK
	}
	return r.code
}
