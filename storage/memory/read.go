package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// Read implements driver.Reader.
func (s *Store) Read(ctx context.Context, req driver.Request) (driver.Reading, error) {
	s.reads.Add(1)
	if err := ctx.Err(); err != nil {
		return driver.Reading{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil {
		return driver.Reading{}, s.failure
	}
	reading := driver.Reading{Now: time.Now()}
	for _, want := range s.expandLocked(req.Wants) {
		q, known := s.queues[want.Queue]
		if !known {
			q = &queue{}
		}
		state := q.at(reading.Now, want.Lookahead)
		state.Name, state.Known = want.Queue, known
		limit(&state, req.Limit)
		reading.Queues = append(reading.Queues, state)
	}
	return reading, nil
}

// Close implements driver.Reader. The queues stay.
func (s *Store) Close() error { return nil }

// expandLocked replaces each want of every queue by wants that name them, without doubles, in order of name.
func (s *Store) expandLocked(wants []driver.Want) []driver.Want {
	set := make(map[driver.Want]bool)
	for _, want := range wants {
		if want.Queue != "" {
			set[want] = true
			continue
		}
		for name := range s.queues {
			set[driver.Want{Queue: name, Lookahead: want.Lookahead}] = true
		}
	}
	return slices.SortedFunc(maps.Keys(set), func(a, b driver.Want) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Lookahead, b.Lookahead))
	})
}

// dueBy returns how many waiting jobs are due at t.
func (q *queue) dueBy(t time.Time) int {
	return sort.Search(len(q.waiting), func(i int) bool { return q.waiting[i].After(t) })
}

// at is the queue as it looks now with a lookahead, without limits.
func (q *queue) at(now time.Time, lookahead time.Duration) driver.Queue {
	due := q.dueBy(now.Add(lookahead))
	state := driver.Queue{
		Lookahead: lookahead,
		Ready:     int64(due),
		Running:   q.running,
		Scheduled: int64(len(q.waiting) - due),
		Paused:    q.paused,
	}
	if due > 0 {
		state.Oldest = max(0, now.Sub(q.waiting[0])) // with a lookahead, the oldest may be yet to come
	}
	if due < len(q.waiting) {
		state.NextDue = q.waiting[due].Sub(now)
	}
	if q.paused {
		state.Ready, state.Oldest = 0, 0
	}
	if q.pool != nil {
		pool := *q.pool
		state.Pool = &pool
	}
	return state
}

// limit bounds the counts of a queue; 0 leaves them exact.
func limit(q *driver.Queue, most int64) {
	if most <= 0 {
		return
	}
	for _, n := range []*int64{&q.Ready, &q.Running, &q.Scheduled} {
		if *n > most {
			*n, q.Saturated = most, true
		}
	}
}
