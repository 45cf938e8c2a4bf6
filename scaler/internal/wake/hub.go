// Package wake brings signals to the streams that wait for them.
//
// A source's watcher, a timer or a producer calls [Hub.Signal] when a queue may have changed. A stream holds a
// [Sub] and looks at its queue when the Sub's channel says so. The hub knows nothing of samples: a signal is a
// hint, and the stream that is woken by one reads before it believes.
//
// Signal takes constant time and never blocks: it marks the queue dirty and rings the source's dispatcher, one
// goroutine per source, which [Hub.Close] joins. The first signal after a quiet time is passed on at once;
// those that follow within Coalesce are passed on together. A Sub that is not armed, because its stream is
// active and has nothing to wait for, hears of its signals at most once per Lag.
//
// Where very many wait for one queue, the dispatcher has one of them look first ([Looker]). The others find what it has
// read, and need not all wait for that read.
package wake

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxDirty is how many different queues a source may have dirty before all count as dirty.
	maxDirty = 1024
	// crowd is how many armed Subs of one queue are so many that one of them looks for all.
	crowd = 16
)

// Options are the hub's two delays.
type Options struct {
	Coalesce time.Duration // between two rounds to armed Subs
	Lag      time.Duration // between two rounds to the others
}

// Defaults are the delays that leadsman documents.
func Defaults() Options { return Options{Coalesce: 20 * time.Millisecond, Lag: time.Second} }

// A Hub holds the subscriptions of all sources. Its methods may be called from several goroutines.
type Hub struct {
	opts    Options
	stop    chan struct{}
	joined  sync.WaitGroup
	sources map[string]*source // fixed at New
}

// New makes a Hub for the named sources. Signals wait until Start.
func New(opts Options, sources ...string) *Hub {
	h := &Hub{opts: opts, stop: make(chan struct{}), sources: make(map[string]*source, len(sources))}
	for _, name := range sources {
		h.sources[name] = newSource()
	}
	return h
}

// Start starts a dispatcher for each source. It is called once.
func (h *Hub) Start() {
	for _, s := range h.sources {
		h.joined.Go(func() { s.dispatch(h.opts, h.stop) })
	}
}

// Close stops the dispatchers and waits for them. It is called once.
func (h *Hub) Close() {
	close(h.stop)
	h.joined.Wait()
}

// Signal says that the named queue of a source may have changed, or any of its queues if queue is "". It
// reports whether the source exists.
func (h *Hub) Signal(sourceName, queue string) bool {
	s, ok := h.sources[sourceName]
	if ok {
		s.signal(queue)
	}
	return ok
}

// Reach returns how many subscriptions a signal of the queue concerns, or of any queue if it is "", and how many of
// them are armed.
func (h *Hub) Reach(sourceName, queue string) (told, armed int) {
	s, ok := h.sources[sourceName]
	if !ok {
		return 0, 0
	}
	return s.reach(queue)
}

// Held returns for how long a signal of the source has waited to be passed on; 0 when none waits. It is never long
// while the hub's dispatchers are at work.
func (h *Hub) Held(sourceName string) time.Duration {
	s, ok := h.sources[sourceName]
	if !ok {
		return 0
	}
	return s.held()
}

// Subs returns how many subscriptions a source has and how many of them are armed.
func (h *Hub) Subs(sourceName string) (open, armed int) {
	s, ok := h.sources[sourceName]
	if !ok {
		return 0, 0
	}
	return int(s.open.Load()), int(s.armed.Load())
}

// A Looker looks at its queues for all that wait for them, so that what it reads is there when they look.
type Looker interface {
	// Look reads what is as new as since. It is called by the hub, from any goroutine and as long as the Sub is open or
	// a moment longer. It may block for as long as a read may take, and must return promptly once the server ends.
	Look(since time.Time)
}

// Subscribe asks for the signals of the named queues, or of all that match if names is empty. It is armed. look may be
// asked to look before others are told; nil is not. It returns nil for a source that does not exist.
func (h *Hub) Subscribe(sourceName string, names []string, match func(queue string) bool, look Looker) *Sub {
	s, ok := h.sources[sourceName]
	if !ok {
		return nil
	}
	sub := &Sub{source: s, names: names, match: match, look: look, c: make(chan struct{}, 1)}
	s.add(sub)
	sub.Arm(true)
	return sub
}

// A Sub is one stream's subscription.
type Sub struct {
	source *source
	names  []string
	match  func(string) bool
	look   Looker // nil for none
	c      chan struct{}
	armed  atomic.Bool
	first  atomic.Int64 // instant of the first signal not yet taken; 0 for none
	since  atomic.Int64 // instant after the last signal passed on
	missed atomic.Int64 // instant of the first signal that came while not armed; 0 for none
}

// C says that a signal has come. It holds one message at most: the latest state is what counts.
func (s *Sub) C() <-chan struct{} { return s.c }

// Take returns when the first signal since the last Take came, for telling how long a wake took, and an instant
// after the last of them: what the stream reads must be at least as new as that. Both are zero when none has come.
func (s *Sub) Take() (first, since time.Time) {
	at := s.first.Swap(0)
	if at == 0 {
		return time.Time{}, time.Time{}
	}
	return s.source.base.Add(time.Duration(at)), s.source.base.Add(time.Duration(s.since.Load()))
}

// Arm says whether the stream waits for a job, and so wants to hear of signals at once, those included that came
// while it was not armed.
func (s *Sub) Arm(on bool) {
	if s.armed.Swap(on) == on {
		return
	}
	if !on {
		s.source.armed.Add(-1)
		return
	}
	s.source.armed.Add(1)
	if at := s.missed.Swap(0); at != 0 {
		s.ring(at, s.source.now())
	}
}

// Nudge rings at once unless the Sub is armed: somebody has found out that there may be something to wait for.
func (s *Sub) Nudge() {
	if !s.armed.Load() {
		now := s.source.now()
		s.ring(now, now)
	}
}

// Close ends the subscription. It is called once.
func (s *Sub) Close() {
	s.Arm(false)
	s.source.remove(s)
}

// hear takes a signal from the dispatcher, with the instant of the dispatch. It returns false when the stream will
// hear of it later.
func (s *Sub) hear(first, now int64) bool {
	if !s.armed.Load() {
		s.missed.CompareAndSwap(0, first)
		if !s.armed.Load() { // else it was armed just now and may not have seen what was missed
			return false
		}
	}
	s.ring(first, now)
	return true
}

// ring passes on a signal. What Take returns is written first, so that whoever receives from C finds it.
func (s *Sub) ring(first, now int64) {
	s.since.Store(now)
	s.first.CompareAndSwap(0, first)
	s.missed.Store(0)
	select {
	case s.c <- struct{}{}:
	default:
	}
}
