package scaler

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/leadsman/leadsman/scaler/internal/query"
	"github.com/leadsman/leadsman/scaler/internal/sample"
	"github.com/leadsman/leadsman/scaler/internal/wake"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

// How often a source's streams look without any signal.
const (
	defaultResync = 10 * time.Second       // always: heals what signals lost
	edgePollEvery = 250 * time.Millisecond // while nothing tells of changes, for streams that wait
)

// A source is one configured source at work: its samples, and how its changes are noticed.
type source struct {
	*storage.Source

	samples *sample.Sampler
	resync  time.Duration
	hub     *wake.Hub
	meter   meter
	log     *slog.Logger

	mu     sync.Mutex
	mode   driver.Mode
	reason string
	since  time.Time // when mode came into force
	down   bool      // the last read seen by note failed
	told   bool      // that was logged, and no recovery since
	loud   time.Time // when a failure was last logged
	beat   time.Time // when the loop of watch last came round; zero before the first
}

// newSource makes the source of opts; wait bounds how long a call waits for a read.
func newSource(opts *Source, wait time.Duration, hub *wake.Hub, m meter, log *slog.Logger) *source {
	s := &source{Source: opts.Source, resync: defaultResync, hub: hub, meter: m, log: log.With("source", opts.Name())}
	setIf(&s.resync, opts.Resync)
	sampling := opts.sampling(wait)
	sampling.Observe = s.meter.sampled
	s.samples = sample.New(opts.Source, sampling, s.Signal)
	s.mode, s.reason, s.since = driver.ModeEdgePoll, "starting", time.Now()
	return s
}

// Signal implements driver.Sink.
func (s *source) Signal(queue string) {
	s.meter.signals.Inc()
	s.samples.Signal(queue) // first: who is woken by the hub may ask at once
	s.hub.Signal(s.Name(), queue)
}

// Push implements driver.Sink.
func (s *source) Push(mode driver.Mode, reason string) {
	s.mu.Lock()
	changed := mode != s.mode || reason != s.reason
	if mode != s.mode {
		s.since = time.Now()
	}
	s.mode, s.reason = mode, reason
	s.mu.Unlock()
	switch {
	case !changed:
	case mode == driver.ModeEdgePoll:
		s.log.Warn("changes are polled for", "push_mode", string(mode), "reason", reason)
	default:
		s.log.Info("changes are pushed", "push_mode", string(mode), "reason", reason)
	}
}

func (s *source) pushMode() (mode driver.Mode, reason string, since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mode, s.reason, s.since
}

// watch keeps the source's streams informed until ctx is done.
func (s *source) watch(ctx context.Context) {
	var watcher sync.WaitGroup
	defer watcher.Wait()
	watcher.Go(func() {
		err := s.Watch(ctx, s)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			s.Push(driver.ModeEdgePoll, err.Error())
		default: // against its contract
			s.Push(driver.ModeEdgePoll, "the watcher has ended and gave no reason")
		}
	})
	resync := time.NewTicker(s.resync)
	defer resync.Stop()
	poll := time.NewTicker(edgePollEvery)
	defer poll.Stop()
	for {
		s.noteBeat()
		select {
		case <-ctx.Done():
			return
		case <-resync.C:
			if open, _ := s.hub.Subs(s.Name()); open > 0 {
				s.hub.Signal(s.Name(), "") // no news, so what is sampled stays good
			}
		case <-poll.C:
			mode, _, _ := s.pushMode()
			if _, armed := s.hub.Subs(s.Name()); mode == driver.ModeEdgePoll && armed > 0 {
				s.hub.Signal(s.Name(), "")
			}
		}
	}
}

// noteBeat says that the loop of watch is at work: it comes round with each edge poll at the latest.
func (s *source) noteBeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beat = time.Now()
}

func (s *source) lastBeat() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.beat
}

// get answers a pull: KEDA's polls, people.
func (s *source) get(ctx context.Context, q *query.Query) (sample.View, error) {
	view, err := s.samples.Get(ctx, wants(q))
	s.note(ctx, err, view.Err)
	return view, err // it names the source already
}

// probe answers a stream that waits for more than so many jobs: a read at since or later, unless stop is closed before.
func (s *source) probe(
	ctx context.Context, stop <-chan struct{}, wants []driver.Want, activation float64, since time.Time,
) (sample.View, error) {
	view, err := s.samples.Probe(ctx, stop, wants, int64(activation)+1, since)
	s.note(ctx, err, nil)
	return view, err // it names the source already
}

// A failure is logged this long after the last one that was, at the earliest.
const (
	quietDown = time.Minute      // while nothing can be read
	quietUp   = 10 * time.Second // when something could be meanwhile: the two lanes of reads recover one by one
)

// note logs when the source stops or begins to answer, and seldom while it does not. covered is an error that an
// older sample made up for.
func (s *source) note(ctx context.Context, err, covered error) {
	if errors.Is(ctx.Err(), context.Canceled) || errors.Is(err, sample.ErrClosed) {
		return // the caller or the server goes away; that says nothing of the source
	}
	if err == nil {
		err = covered
	}
	switch report, recovered := s.turn(err != nil, time.Now()); {
	case recovered:
		s.log.Info("the source answers again")
	case report:
		s.log.Warn("the source cannot be read", "error", err)
	}
}

// turn notes whether the last read failed and says what of it is to be logged.
func (s *source) turn(down bool, now time.Time) (report, recovered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	quiet := quietUp
	if s.down {
		quiet = quietDown
	}
	s.down = down
	switch {
	case down && now.Sub(s.loud) > quiet:
		s.told, s.loud = true, now
		return true, false
	case !down && s.told:
		s.told = false
		return false, true
	default:
		return false, false
	}
}

// wants is what a query needs of a sample: its queues by name, or every queue when it has globs or names none.
func wants(q *query.Query) []driver.Want {
	names, exact := q.Names()
	if !exact {
		return []driver.Want{{Lookahead: q.Lookahead}}
	}
	out := make([]driver.Want, len(names))
	for i, name := range names {
		out[i] = driver.Want{Queue: name, Lookahead: q.Lookahead}
	}
	return out
}
