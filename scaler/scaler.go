// Package scaler is the server that KEDA asks: it implements KEDA's ExternalScaler service, for triggers of type
// external and external-push, over the sources it is given.
//
// A call goes one way through the files here: server.go admits it (who asks, what is asked: a query), source.go
// gets a sample, decide.go turns the sample into a value and an activity, encode.go into KEDA's message, and
// errors.go every failure into a status. stream.go holds the push side: it waits for signals and sends true.
// run.go starts and stops everything; whatever goroutine there is, Run has started and waits for.
// calls.go counts RPCs and metrics.go what else happens, collect.go tells Prometheus how the queues stand, and
// probes.go whether the server is alive and ready.
//
// A program embeds the server with [New] and [Server.Run]; package inspect adds the service that people look
// inside with. An engine of your own, for a queue that leadsman does not know, needs storage/driver alone.
package scaler

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/health"

	"github.com/leadsman/leadsman/scaler/internal/auth"
	"github.com/leadsman/leadsman/scaler/internal/query"
	"github.com/leadsman/leadsman/scaler/internal/sample"
	"github.com/leadsman/leadsman/scaler/internal/wake"
	"github.com/leadsman/leadsman/storage"
)

// Options are what a Server is made of. The zero value of a field is its default.
type Options struct {
	// Sources are what may be asked about, in the order in which people see them. The Server closes them.
	Sources []Source
	// Listener is where gRPC is served; required by Run.
	Listener net.Listener
	// TLS secures the listener; nil serves plaintext. It may be reloaded while it is in use.
	TLS *TLS
	// Access says who may ask what; empty lets everybody ask everything. [Server.SetAccess] changes it.
	Access Access
	// Timeout bounds one call, from admission to answer. KEDA sets no deadline of its own and holds a lock
	// meanwhile. 2 s by default.
	Timeout time.Duration
	// ShutdownTimeout bounds how long Run waits for calls to end once its context is done. 10 s by default.
	ShutdownTimeout time.Duration
	// Metrics takes the server's metrics; nil for none. Two servers need two.
	Metrics prometheus.Registerer
	// MaxMetricQueues bounds the queues of one source that have series of their own. 1,000 by default.
	MaxMetricQueues int
	// Logger takes what happens; slog.Default by default.
	Logger *slog.Logger
}

// A Source is a storage.Source and how it is sampled. The zero value of a duration is its default.
type Source struct {
	*storage.Source

	MaxAge     time.Duration // how old a sample may be and answer without a new read; 1 s
	StaleAfter time.Duration // how old it may be while the source cannot be read; 30 s
	Timeout    time.Duration // of one read; 2 s
	CountLimit *int64        // bounds each count; 0 is exact; 100,000
	Resync     time.Duration // how often open streams look without a signal; 10 s
}

func (s *Source) sampling(wait time.Duration) sample.Options {
	opts := sample.Defaults()
	opts.Wait = wait
	setIf(&opts.MaxAge, s.MaxAge)
	setIf(&opts.StaleAfter, s.StaleAfter)
	setIf(&opts.Timeout, s.Timeout)
	if s.CountLimit != nil {
		opts.CountLimit = *s.CountLimit
	}
	return opts
}

func setIf(field *time.Duration, value time.Duration) {
	if value > 0 {
		*field = value
	}
}

// A Server answers KEDA. Make one with New.
type Server struct {
	opts     Options
	log      *slog.Logger
	sources  map[string]*source
	order    []*source
	asked    []query.Source // all sources, as query.Parse takes them
	access   *auth.Authority
	hub      *wake.Hub
	triggers triggers
	metrics  *metrics
	health   *health.Server
	services []addedService
	serving  atomic.Bool   // Run has begun
	draining chan struct{} // closed when streams are to end
}

// New makes a Server of at least one source. It does no I/O and starts nothing.
func New(opts Options) (*Server, error) {
	if len(opts.Sources) == 0 {
		return nil, errors.New("scaler: no source is configured")
	}
	setDefaults(&opts)
	s := &Server{
		opts:     opts,
		log:      opts.Logger,
		sources:  make(map[string]*source, len(opts.Sources)),
		metrics:  newMetrics(),
		health:   health.NewServer(),
		draining: make(chan struct{}),
	}
	var err error
	if s.access, err = auth.New(opts.Access, opts.Logger); err != nil {
		return nil, fmt.Errorf("scaler: %w", err)
	}
	names := make([]string, len(opts.Sources))
	for i := range opts.Sources {
		names[i] = opts.Sources[i].Name()
	}
	s.hub = wake.New(wake.Defaults(), names...)
	for i := range opts.Sources {
		if err := s.add(&opts.Sources[i]); err != nil {
			return nil, err
		}
	}
	if opts.Metrics != nil {
		if err := s.metrics.register(s, opts.Metrics); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func setDefaults(opts *Options) {
	if opts.Timeout <= 0 {
		opts.Timeout = 2 * time.Second
	}
	if opts.ShutdownTimeout <= 0 {
		opts.ShutdownTimeout = 10 * time.Second
	}
	if opts.MaxMetricQueues <= 0 {
		opts.MaxMetricQueues = 1000
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
}

func (s *Server) add(opts *Source) error {
	name := opts.Name()
	if s.sources[name] != nil {
		return fmt.Errorf("scaler: two sources are named %q", name)
	}
	src := newSource(opts, s.opts.Timeout, s.hub, s.metrics.of(name), s.log)
	s.sources[name] = src
	s.order = append(s.order, src)
	s.asked = append(s.asked, query.Source{
		Name: name, NoLookahead: opts.Traits().NoLookahead, CountLimit: opts.sampling(0).CountLimit,
	})
	return nil
}
