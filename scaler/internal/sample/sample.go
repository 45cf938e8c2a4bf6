// Package sample keeps the newest samples of one source and decides when it is read again.
//
// RPC handlers, HTTP and the page call [Sampler.Get] and are answered from one shared sample: however many
// ScaledObjects ask, a source is read at most once per MaxAge, one read at a time, for every queue that
// anybody has asked for lately, and with enough rest in between that reading never takes more than a tenth of
// a connection. Streams that wait for a job call [Sampler.Probe], which reads the few queues that may have
// changed, and those only far enough to tell whether they are active.
//
// Both ways write into one cache, so that a metric asked for right after a wake agrees with it. A read that
// fails changes nothing in the cache: it is an error, never a zero. Reads run in goroutines of their own, are
// bounded by Timeout and outlive the caller that caused them; [Sampler.Close] waits for them.
package sample

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

// Options are the limits of a Sampler. Each field must be set, except where it says otherwise; [Defaults] does.
type Options struct {
	// MaxAge is how old a sample may be and still answer without a new read.
	MaxAge time.Duration
	// StaleAfter is how old a sample may be and still answer while reads fail or rest.
	StaleAfter time.Duration
	// Timeout bounds one read.
	Timeout time.Duration
	// Wait bounds how long Get waits for a read.
	Wait time.Duration
	// Idle is how long a queue nobody asks for is still read along.
	Idle time.Duration
	// CountLimit bounds each count; 0 counts exactly, however long it takes.
	CountLimit int64
	// MaxWants bounds the queues read along, and MaxNames the bytes of their names, which each read sends along: against
	// metadata without end. 0 is no bound.
	MaxWants, MaxNames int
	// Observe, if set, is told of each read how long it took and why it failed, if it did. It must not block.
	Observe func(took time.Duration, err error)
}

// Defaults are the limits that leadsman documents.
func Defaults() Options {
	return Options{
		MaxAge:     time.Second,
		StaleAfter: 30 * time.Second,
		Timeout:    2 * time.Second,
		Wait:       2 * time.Second,
		Idle:       5 * time.Minute,
		CountLimit: 100_000,
		MaxWants:   100_000,
		MaxNames:   8 << 20,
	}
}

// ErrTooManyQueues is returned when MaxWants queues, or MaxNames bytes of names, are being asked for already.
var ErrTooManyQueues = errors.New("too many different queues are being asked for")

// A View is what is known of the wanted queues.
type View struct {
	// At is when the oldest part of it was read.
	At time.Time
	// Queues holds one element per named queue, and one per queue of the source where all were wanted. It
	// is shared: do not change it.
	Queues []driver.Queue
	// Err is why the view is older than it should be; nil for a fresh one.
	Err error
}

// A Sampler samples one source. Its methods may be called from several goroutines.
type Sampler struct {
	source *storage.Source
	opts   Options
	ctx    context.Context //nolint:containedctx // ended by Close; the parent of every read, which outlive their callers
	cancel context.CancelFunc
	reads  sync.WaitGroup

	pull  lane // for values: everything that is wanted, counted to CountLimit
	wake  lane // for streams: what may have changed, counted as far as activity needs
	check lane // for readiness: as little as tells whether the source can be read

	cache cache
}

// New makes a Sampler. onDue is called, from a goroutine of its own and without locks held, when a scheduled
// job of the named queue should have become ready, or of any queue if it is ""; it must not block.
func New(source *storage.Source, opts Options, onDue func(queue string)) *Sampler {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Sampler{source: source, opts: opts, ctx: ctx, cancel: cancel}
	s.cache = cache{opts: opts, entries: map[driver.Want]*entry{}, onDue: onDue}
	// A value must not become stale by rest alone. And after an outage of reads that hang its lane rests the longest: the
	// first of the others that reads again ends that.
	s.pull = lane{read: s.read, widen: s.cache.addWanted, maxRest: min(10*time.Second, opts.StaleAfter/2)}
	s.wake = lane{read: s.read, back: s.pull.resume, maxRest: time.Second, credit: 500 * time.Millisecond}
	s.check = lane{read: s.read, back: s.pull.resume, maxRest: time.Second}
	return s
}

// Close ends the reads under way and waits for them. Later calls fail.
func (s *Sampler) Close() {
	s.cancel()
	s.pull.close()
	s.wake.close()
	s.check.close()
	s.reads.Wait()
	s.cache.close()
}

// Signal says that the named queue may have changed, or every queue if it is "". It takes constant time. A sample that
// found nothing to do is no answer any more to whoever asks for the queue afterwards.
func (s *Sampler) Signal(queue string) {
	s.cache.mu.Lock()
	defer s.cache.mu.Unlock()
	s.cache.signals.note(queue, time.Now())
}

// Get returns the wanted queues from a sample at most MaxAge old. Where that cannot be had, because reads fail,
// rest or take longer than Wait or ctx allow, it returns the last one up to StaleAfter, with Err set if a read failed.
// Past that it returns the error.
func (s *Sampler) Get(ctx context.Context, wants []driver.Want) (View, error) {
	now := time.Now()
	view, state, err := s.cache.look(wants, now)
	if err != nil {
		return View{}, err
	}
	resting, lastErr := s.pull.state(now)
	switch {
	case state == fresh:
		return view, nil
	case (state == news || state == usable) && resting:
		view.Err = cmp.Or(lastErr, view.Err)
		return view, nil
	case (state == failed || state == doubted) && resting && cmp.Or(lastErr, view.Err) != nil:
		return View{}, cmp.Or(lastErr, view.Err)
	}
	since := now.Add(-s.opts.MaxAge)
	if state == news || state == doubted {
		since = now
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Wait)
	defer cancel()
	_, readErr := s.pull.do(ctx, s, order{
		wants: wants, limit: s.opts.CountLimit, whole: true, since: since, urgent: state == unread || state == doubted,
	})
	return s.after(wants, readErr)
}

// after answers from whatever the cache holds once a read has ended or the caller's time is up.
func (s *Sampler) after(wants []driver.Want, readErr error) (View, error) {
	view, state, err := s.cache.look(wants, time.Now())
	switch {
	case err != nil:
		return View{}, err
	case state == fresh:
		return view, nil
	case state == news || state == usable || state == doubted && readErr == nil:
		view.Err = cmp.Or(readErr, view.Err) // doubted: a probe has seen still more since the read that was waited for
		return view, nil
	default:
		return View{}, cmp.Or(readErr, view.Err, fmt.Errorf("source %q: no sample yet", s.source.Name()))
	}
}

// Probe returns of the wanted queues what tells whether they are active (driver.Request.Activity), as it was at since
// or later, with counts that may stop at limit. It never returns what is older: where it cannot read, it fails. It
// waits for a read, which is bounded and so is the rest before it, until ctx is done or stop is closed.
func (s *Sampler) Probe(ctx context.Context, stop <-chan struct{}, wants []driver.Want, limit int64, since time.Time) (View, error) {
	if s.opts.CountLimit > 0 {
		limit = min(limit, s.opts.CountLimit)
	}
	return s.fill(ctx, order{wants: wants, limit: limit, since: since, stop: stop})
}

// Fresh is Probe for all fields, counted in full.
func (s *Sampler) Fresh(ctx context.Context, stop <-chan struct{}, wants []driver.Want, since time.Time) (View, error) {
	return s.fill(ctx, order{wants: wants, limit: s.opts.CountLimit, whole: true, since: since, stop: stop})
}

func (s *Sampler) fill(ctx context.Context, o order) (View, error) {
	if view, ok := s.cache.filled(&o); ok {
		return view, nil
	}
	if _, _, err := s.cache.look(o.wants, time.Now()); err != nil { // keeps the queues among those read along
		return View{}, err
	}
	f, err := s.wake.do(ctx, s, o)
	if err != nil {
		return View{}, err
	}
	return f.view(o.wants) // the cache may hold a newer one already, that was counted less far
}

// read does a flight's read and puts it into the cache.
func (s *Sampler) read(f *flight) error {
	for wants := range slices.Chunk(slices.Collect(maps.Keys(f.wants)), maxRead) {
		if err := s.readSome(f, wants); err != nil {
			return err
		}
	}
	return nil
}

// maxRead is how many queues one statement asks for at most. Those of more triggers than that are read one part
// after the other, so that a source with very many does not run into its timeout with all of them.
const maxRead = 1000

func (s *Sampler) readSome(f *flight, wants []driver.Want) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.opts.Timeout)
	defer cancel()
	began := time.Now()
	f.asked.Store(&began)
	got, err := s.source.Read(ctx, driver.Request{Wants: wants, Limit: f.limit, Activity: !f.whole})
	if s.ctx.Err() != nil {
		return fmt.Errorf("source %q: shutting down", s.source.Name())
	}
	if s.opts.Observe != nil {
		s.opts.Observe(time.Since(began), err)
	}
	for _, queue := range s.cache.put(f, wants, got, err) {
		s.cache.onDue(queue)
	}
	return err
}

// A Status is what people see of a source's samples.
type Status struct {
	// Tried is when the last read ended, good or not; zero before the first.
	Tried time.Time
	// LastRead is when the newest good read began; zero before the first.
	LastRead time.Time
	// Took is how long it lasted.
	Took time.Duration
	// Err is why the last read failed; nil after a good one.
	Err error
	// Reads and Failures count since start.
	Reads, Failures int64
	// Wanted is how many queues are read along.
	Wanted int
	// Notes come with the newest good read.
	Notes []string
}

// Status returns what people see of the source's samples.
func (s *Sampler) Status() Status { return s.cache.statusNow() }
