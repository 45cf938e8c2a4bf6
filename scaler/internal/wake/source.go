package wake

import (
	"sync"
	"sync/atomic"
	"time"
)

// A source is one source's subscriptions and the signals that have not been passed on yet.
//
// Instants are nanoseconds since base, read off the monotonic clock, so that a step of the wall clock cannot make
// a signal seem older than the read it calls for.
type source struct {
	base        time.Time
	ring        chan struct{} // size 1: something is dirty
	open, armed atomic.Int64

	subsMu   sync.RWMutex
	byQueue  map[string]map[*Sub]struct{} // subscriptions by name
	patterns map[*Sub]struct{}            // subscriptions by match

	dirtyMu  sync.Mutex
	dirty    map[string]int64 // queue → instant of its first signal
	allDirty int64            // the same for every queue; 0 for not
	since    int64            // instant since which something is dirty; 0 for nothing
}

func newSource() *source {
	return &source{
		base: time.Now().Add(-time.Nanosecond), ring: make(chan struct{}, 1),
		byQueue: map[string]map[*Sub]struct{}{}, patterns: map[*Sub]struct{}{},
	}
}

func (s *source) add(sub *Sub) {
	s.subsMu.Lock()
	defer s.subsMu.Unlock()
	s.open.Add(1)
	if len(sub.names) == 0 {
		s.patterns[sub] = struct{}{}
	}
	for _, name := range sub.names {
		if s.byQueue[name] == nil {
			s.byQueue[name] = map[*Sub]struct{}{}
		}
		s.byQueue[name][sub] = struct{}{}
	}
}

func (s *source) remove(sub *Sub) {
	s.subsMu.Lock()
	defer s.subsMu.Unlock()
	s.open.Add(-1)
	delete(s.patterns, sub)
	for _, name := range sub.names {
		delete(s.byQueue[name], sub)
		if len(s.byQueue[name]) == 0 {
			delete(s.byQueue, name)
		}
	}
}

// now is the present instant. It is never 0, which means none: base lies before the first.
func (s *source) now() int64 { return int64(time.Since(s.base)) }

func (s *source) signal(queue string) {
	now := s.now()
	s.dirtyMu.Lock()
	if s.since == 0 {
		s.since = now
	}
	switch {
	case s.allDirty != 0:
	case queue == "" || len(s.dirty) >= maxDirty:
		s.allDirty = now
	default:
		if s.dirty == nil {
			s.dirty = map[string]int64{}
		}
		if _, ok := s.dirty[queue]; !ok {
			s.dirty[queue] = now
		}
	}
	s.dirtyMu.Unlock()
	select {
	case s.ring <- struct{}{}:
	default:
	}
}

// take returns what is dirty and makes it clean.
func (s *source) take() (dirty map[string]int64, all int64) {
	s.dirtyMu.Lock()
	defer s.dirtyMu.Unlock()
	dirty, all = s.dirty, s.allDirty
	s.dirty, s.allDirty, s.since = nil, 0, 0
	return dirty, all
}

// held returns for how long a signal has waited for the dispatcher.
func (s *source) held() time.Duration {
	s.dirtyMu.Lock()
	defer s.dirtyMu.Unlock()
	if s.since == 0 {
		return 0
	}
	return time.Duration(s.now() - s.since)
}

// reach counts the subscriptions that a signal of the queue concerns, and those of them that are armed.
func (s *source) reach(queue string) (told, armed int) {
	count := func(sub *Sub) {
		told++
		if sub.armed.Load() {
			armed++
		}
	}
	if queue == "" {
		return int(s.open.Load()), int(s.armed.Load())
	}
	s.subsMu.RLock()
	defer s.subsMu.RUnlock()
	for sub := range s.byQueue[queue] {
		count(sub)
	}
	for sub := range s.patterns {
		if sub.match(queue) {
			count(sub)
		}
	}
	return told, armed
}

// dispatch passes signals on until stop is closed.
func (s *source) dispatch(opts Options, stop <-chan struct{}) {
	lagging := map[*Sub]int64{} // unarmed Subs with a signal to hear of, and since when
	lag := time.NewTimer(opts.Lag)
	defer lag.Stop()
	lag.Stop()
	for waiting := false; ; {
		select {
		case <-stop:
			return
		case <-s.ring:
			rang := s.round(lagging)
			if len(lagging) > 0 && !waiting {
				waiting = true
				lag.Reset(opts.Lag)
			}
			if rang { // else a busy queue that nobody waits for would hold up the others
				pause(opts.Coalesce, stop)
			}
		case <-lag.C:
			waiting = false
			for sub, first := range lagging {
				sub.ring(first, s.now())
			}
			clear(lagging)
		}
	}
}

// round rings every armed Sub that a dirty queue concerns, and notes the others as lagging. It says whether there
// was one to ring. Crowds are rung last, because somebody has to look first.
func (s *source) round(lagging map[*Sub]int64) (rang bool) {
	dirty, all := s.take()
	r := round{source: s, now: s.now(), lagging: lagging}
	if crowds := r.tellFew(dirty, all); len(crowds) > 0 {
		r.lookFor(crowds)
		r.tellCrowds(crowds)
	}
	return r.rang
}

// A round passes on what was dirty at one instant.
type round struct {
	source  *source
	now     int64 // instant of the dispatch; what is read must be as new
	lagging map[*Sub]int64
	rang    bool
}

// A crowded queue is one that very many armed Subs wait for.
type crowded struct {
	queue string
	first int64 // instant of its first signal
	lead  *Sub
}

// tellFew tells all but the Subs of crowded queues, which it returns.
func (r *round) tellFew(dirty map[string]int64, all int64) (crowds []crowded) {
	s := r.source
	s.subsMu.RLock()
	defer s.subsMu.RUnlock()
	if all != 0 {
		for sub := range s.patterns {
			r.tell(sub, all)
		}
		for queue := range s.byQueue {
			crowds = r.tellQueue(crowds, queue, all)
		}
	}
	for queue, at := range dirty {
		if all == 0 {
			crowds = r.tellQueue(crowds, queue, at)
		}
		for sub := range s.patterns {
			if sub.match(queue) {
				r.tell(sub, at)
			}
		}
	}
	return crowds
}

// tellQueue tells the Subs of the queue, unless it is crowded and so to be added to crowds.
func (r *round) tellQueue(crowds []crowded, queue string, first int64) []crowded {
	subs := r.source.byQueue[queue]
	if lead := leader(subs); lead != nil {
		return append(crowds, crowded{queue, first, lead})
	}
	for sub := range subs {
		r.tell(sub, first)
	}
	return crowds
}

// leader returns one who can look for a crowd of armed Subs; nil where there is no crowd, or nobody can.
func leader(subs map[*Sub]struct{}) *Sub {
	if len(subs) < crowd {
		return nil
	}
	var lead *Sub
	armed := 0
	for sub := range subs {
		if !sub.armed.Load() {
			continue
		}
		armed++
		if lead == nil && sub.look != nil {
			lead = sub
		}
		if armed >= crowd && lead != nil {
			return lead
		}
	}
	return nil
}

// lookFor has one Sub of each crowd look, all at once. No lock is held meanwhile.
func (r *round) lookFor(crowds []crowded) {
	since := r.source.base.Add(time.Duration(r.now))
	var looks sync.WaitGroup
	for _, c := range crowds[1:] {
		looks.Go(func() { c.lead.look.Look(since) })
	}
	crowds[0].lead.look.Look(since)
	looks.Wait()
}

func (r *round) tellCrowds(crowds []crowded) {
	r.source.subsMu.RLock()
	defer r.source.subsMu.RUnlock()
	for _, c := range crowds {
		for sub := range r.source.byQueue[c.queue] {
			r.tell(sub, c.first)
		}
	}
}

// tell rings one Sub, or notes that it lags.
func (r *round) tell(sub *Sub, first int64) {
	if sub.hear(first, r.now) {
		r.rang = true
	} else if _, ok := r.lagging[sub]; !ok {
		r.lagging[sub] = first
	}
}

func pause(d time.Duration, stop <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-stop:
	}
}
