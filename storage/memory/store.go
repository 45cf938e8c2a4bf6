package memory

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// A Store holds queues. Its methods may be called from several goroutines and never wait for a reader or a
// watcher. The zero Store is empty and ready to use.
type Store struct {
	reads atomic.Int64

	mu       sync.Mutex // guards all below, and each queue
	queues   map[string]*queue
	failure  error
	watchers map[*watcher]struct{}
}

// A queue is known from the first change on, also when it is empty again.
type queue struct {
	waiting []time.Time // when each job that nobody has claimed is due, sorted
	running int64
	paused  bool
	pool    *driver.Pool
}

// New returns an empty Store.
func New() *Store { return &Store{} }

// A State is what a queue looks like, for Set.
type State struct {
	Ready   int64
	Running int64
	// Oldest is how long all of the ready jobs have been waiting.
	Oldest time.Duration
	// Due holds, for each scheduled job, how long from now it is due.
	Due    []time.Duration
	Paused bool
	// Pool is the queue's workers; nil when they are not known.
	Pool *driver.Pool
}

// Set makes the named queue look like state, whatever it was.
func (s *Store) Set(name string, state State) {
	now := time.Now()
	q := queue{running: state.Running, paused: state.Paused, waiting: slices.Repeat([]time.Time{now.Add(-state.Oldest)}, int(state.Ready))}
	for _, in := range state.Due {
		q.waiting = append(q.waiting, now.Add(in))
	}
	slices.SortFunc(q.waiting, time.Time.Compare)
	if state.Pool != nil {
		pool := *state.Pool
		q.pool = &pool
	}
	s.change(name, func(old *queue) { *old = q })
}

// Enqueue adds n jobs that are ready now.
func (s *Store) Enqueue(name string, n int64) { s.Schedule(name, n, 0) }

// Schedule adds n jobs that are due after in; a negative in makes them ready that long ago.
func (s *Store) Schedule(name string, n int64, in time.Duration) {
	due := time.Now().Add(in)
	s.change(name, func(q *queue) {
		at, _ := slices.BinarySearchFunc(q.waiting, due, func(t, due time.Time) int {
			if t.After(due) {
				return 1
			}
			return -1 // behind those that are due at the same instant
		})
		q.waiting = slices.Insert(q.waiting, at, slices.Repeat([]time.Time{due}, int(n))...)
	})
}

// Claim takes the oldest n ready jobs, or as many as there are, and counts them as running. It returns how many
// it took: none from a paused queue.
func (s *Store) Claim(name string, n int64) int64 {
	var taken int64
	now := time.Now()
	s.change(name, func(q *queue) {
		if q.paused {
			return
		}
		taken = min(n, int64(q.dueBy(now)))
		q.waiting = slices.Delete(q.waiting, 0, int(taken))
		q.running += taken
	})
	return taken
}

// Finish ends n running jobs, or as many as there are.
func (s *Store) Finish(name string, n int64) {
	s.change(name, func(q *queue) { q.running -= min(n, q.running) })
}

// Discard drops all jobs of the queue that nobody has claimed.
func (s *Store) Discard(name string) {
	s.change(name, func(q *queue) { q.waiting = nil })
}

// Pause stops or resumes the handing out of the queue's jobs.
func (s *Store) Pause(name string, paused bool) {
	s.change(name, func(q *queue) { q.paused = paused })
}

// Fail makes every Read fail with err, until Fail(nil). It signals every queue, as an engine does that
// lost and found its backend.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = err
	s.signalLocked("")
}

// Reads returns how often Read was called.
func (s *Store) Reads() int64 { return s.reads.Load() }

// change changes a queue, which it creates if need be, and tells the watchers.
func (s *Store) change(name string, do func(*queue)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[name]
	if q == nil {
		q = &queue{}
		if s.queues == nil {
			s.queues = make(map[string]*queue)
		}
		s.queues[name] = q
	}
	do(q)
	s.signalLocked(name)
}
