package sample

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

// restFactor is how many times its time for reading a lane rests: a tenth of a connection at most.
const restFactor = 9

// A failed read is tried again after minRetry, twice that, and so on up to maxRetry.
const (
	minRetry = 100 * time.Millisecond
	maxRetry = time.Second
)

// ErrClosed is returned once the Sampler has been closed.
var ErrClosed = errors.New("the server is shutting down")

// A lane does reads one at a time. Callers that come while one is under way share the next. It rests in proportion
// to the time that it has spent reading, and after failures it backs off. What it has rested more than it had to, up
// to credit, it may spend on reads without rest: so one slow read does not delay the signal that comes after it.
type lane struct {
	read    func(*flight) error
	widen   func(wants map[driver.Want]struct{}) // adds what is read along; nil adds nothing
	back    func()                               // called when a read succeeds after one that failed; nil for nobody
	maxRest time.Duration                        // how long it rests at most
	credit  time.Duration                        // how much time for reading it may save up

	mu       sync.Mutex
	running  bool          // its goroutine is in loop, and stays there until close
	work     chan struct{} // closed when there is a next flight; nil when the goroutine does not wait for one
	current  *flight       // being read
	next     *flight       // collecting wants
	rest     time.Time     // no read starts before, but for urgent callers
	saved    time.Duration // time for reading saved up; below zero it is owed
	landed   time.Time     // end of the last read
	hurry    chan struct{} // size 1: an urgent caller or resume ends the rest
	lastErr  error         // of the last read
	failures int           // in a row
	closed   bool
}

// A flight is one read for all who wait for it.
type flight struct {
	wants   map[driver.Want]struct{}
	limit   int64 // 0 is exact
	whole   bool  // all fields, not those of activity alone
	urgent  bool  // does not wait for the rest to end
	started time.Time
	asked   atomic.Pointer[time.Time] // when its latest statement began; nil before the first
	done    chan struct{}             // closed when what follows is set
	err     error
	at      time.Time // when its first read began
	parts   map[driver.Want][]driver.Queue
	failed  map[driver.Want]error
}

// keep notes what a read has said of wants.
func (f *flight) keep(wants []driver.Want, got storage.Sample, parts map[driver.Want][]driver.Queue) {
	if f.parts == nil {
		f.at, f.parts, f.failed = got.Started, make(map[driver.Want][]driver.Queue, len(f.wants)), map[driver.Want]error{}
	}
	for _, want := range wants {
		f.parts[want] = parts[want]
	}
	maps.Copy(f.failed, got.Failed)
}

// view is what the flight read of wants, which are among its own, or why one of them could not be read.
func (f *flight) view(wants []driver.Want) (View, error) {
	var view View
	for _, want := range wants {
		if err := f.failed[want]; err != nil {
			return View{}, err
		}
		view.add(&record{at: f.at, queues: f.parts[want]})
	}
	return view, nil
}

// state says whether the lane is resting, and how the last read failed, if it did.
func (l *lane) state(now time.Time) (resting bool, lastErr error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return now.Before(l.rest), l.lastErr
}

// An order is what one caller wants read.
type order struct {
	wants  []driver.Want
	limit  int64           // 0 is exact
	whole  bool            // all fields are needed, not those of activity alone
	since  time.Time       // the read must begin then or later
	urgent bool            // it does not wait for the rest to end
	stop   <-chan struct{} // the caller waits no longer than until it is closed; nil for never
}

// do waits for a read that fills the order, and returns it, or its error, or ctx's.
func (l *lane) do(ctx context.Context, s *Sampler, o order) (*flight, error) {
	f, err := l.join(s, o)
	if err != nil {
		return nil, err
	}
	select {
	case <-f.done:
		return f, f.err
	case <-o.stop:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, &storage.Error{Source: s.source.Name(), Kind: driver.Timeout, Message: "no answer in time"}
	}
}

// join returns the flight to wait for: the one under way if it is recent and wide enough, else the next.
func (l *lane) join(s *Sampler, o order) (*flight, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	if f := l.current; f != nil && !f.started.Before(o.since) && f.covers(o) {
		return f, nil
	}
	if l.next == nil {
		l.next = &flight{wants: map[driver.Want]struct{}{}, limit: o.limit, done: make(chan struct{})}
	}
	l.next.add(o)
	if o.urgent && !l.next.urgent {
		l.next.urgent = true
		l.hurryLocked()
	}
	if !l.running {
		l.running = true
		s.reads.Go(l.loop)
	}
	l.rouseLocked()
	return l.next, nil
}

// rouseLocked ends the wait for work.
func (l *lane) rouseLocked() {
	if l.work != nil {
		close(l.work)
		l.work = nil
	}
}

// loop reads whatever anybody waits for, until the lane is closed. It is one goroutine for all reads, because a fresh one
// would have to grow its stack for each.
func (l *lane) loop() {
	for f := l.take(); f != nil; f = l.take() {
		err := l.read(f)
		if recovered := l.land(f, err); recovered && l.back != nil {
			l.back()
		}
	}
}

// take waits for work and until the rest is over, and makes the next flight the current one; nil when the lane is closed.
func (l *lane) take() *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.next == nil && !l.closed {
		work := make(chan struct{})
		l.work = work
		l.mu.Unlock()
		<-work
		l.mu.Lock()
	}
	for l.next != nil && !l.next.urgent && !l.closed {
		rest := time.Until(l.rest)
		if rest <= 0 {
			break
		}
		hurry := make(chan struct{}, 1)
		l.hurry = hurry
		l.mu.Unlock()
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-hurry:
			timer.Stop()
		}
		l.mu.Lock()
		l.hurry = nil
	}
	l.current, l.next = l.next, nil
	if l.current == nil {
		return nil
	}
	if l.widen != nil && !l.current.urgent { // a new queue must not cost a read of all the others
		l.widen(l.current.wants)
	}
	l.current.started = time.Now()
	return l.current
}

// land ends the current flight and sets the rest. It says whether the read is the first good one after one that failed.
func (l *lane) land(f *flight, err error) (recovered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	recovered = err == nil && l.failures > 0
	rest := l.spend(f.started, now)
	if err != nil {
		rest = max(rest, min(minRetry<<min(l.failures, 10), maxRetry))
		l.failures++
	} else {
		l.failures = 0
	}
	l.rest, l.lastErr = now.Add(rest), err
	l.current = nil
	f.err = err
	close(f.done)
	return recovered
}

// spend accounts for a read from started to now, and returns the rest that is owed for it.
func (l *lane) spend(started, now time.Time) time.Duration {
	earned := l.credit
	if !l.landed.IsZero() {
		earned = started.Sub(l.landed) / restFactor
	}
	l.saved = min(l.saved+earned, l.credit) - now.Sub(started)
	l.saved = max(l.saved, -l.maxRest/restFactor)
	l.landed = now
	return max(0, -l.saved*restFactor)
}

// close refuses later callers and ends a rest, so that those who wait get their answer.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.rouseLocked()
	l.hurryLocked()
}

// resume ends the rest after a read that failed: somebody has found that the source answers again.
func (l *lane) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lastErr != nil {
		l.rest, l.saved = time.Time{}, 0
		l.hurryLocked()
	}
}

// hurryLocked has whoever waits for the end of the rest see whether it is over.
func (l *lane) hurryLocked() {
	if l.hurry != nil {
		select {
		case l.hurry <- struct{}{}:
		default:
		}
	}
}

func (f *flight) covers(o order) bool {
	if f.limit != 0 && (o.limit == 0 || o.limit > f.limit) || o.whole && !f.whole {
		return false
	}
	for _, want := range o.wants {
		if _, ok := f.wants[want]; !ok {
			return false
		}
	}
	return true
}

func (f *flight) add(o order) {
	f.whole = f.whole || o.whole
	if o.limit == 0 || f.limit == 0 {
		f.limit = 0
	} else {
		f.limit = max(f.limit, o.limit)
	}
	for _, want := range o.wants {
		f.wants[want] = struct{}{}
	}
}
