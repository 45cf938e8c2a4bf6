package sample

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// Check reads as little as tells whether the source can be read at all, and returns when that is known or ctx is done.
// What it comes to shows in Status. However many ask, one such read is under way at a time, and it counts as no
// interest in any queue.
func (s *Sampler) Check(ctx context.Context) error {
	_, err := s.check.do(ctx, s, order{wants: []driver.Want{{}}, limit: 1, since: time.Now().Add(-s.opts.MaxAge)})
	return err
}

// Stalled tells whether a read has lasted for limit beyond its timeout: the engine has not kept to its contract, or
// this process is not at work, and nobody who waits for that read will ever be answered.
func (s *Sampler) Stalled(now time.Time, limit time.Duration) bool {
	limit += s.opts.Timeout
	return s.pull.lasts(now, limit) || s.wake.lasts(now, limit) || s.check.lasts(now, limit)
}

// lasts tells whether the statement under way began more than limit ago.
func (l *lane) lasts(now time.Time, limit time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current == nil {
		return false
	}
	began := l.current.asked.Load()
	return began != nil && now.Sub(*began) > limit
}

// A Known is a queue as the newest sample of it has it, without lookahead.
type Known struct {
	driver.Queue

	// Asked is set when somebody asks for the queue by its name, and Since is when that began.
	Asked bool
	Since time.Time
	// At is when the read began that this is from.
	At time.Time
}

// Known returns every queue of which a sample is still good for an answer, by name. It reads nothing and counts as no
// interest.
func (s *Sampler) Known() []Known {
	byName := s.cache.known(time.Now())
	all := make([]Known, 0, len(byName))
	for _, queue := range byName {
		all = append(all, queue)
	}
	slices.SortFunc(all, func(a, b Known) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (c *cache) known(now time.Time) map[string]Known {
	c.mu.Lock()
	defer c.mu.Unlock()
	byName := map[string]Known{}
	for want, e := range c.entries {
		if want.Lookahead != 0 || e.full.at.IsZero() || now.Sub(e.full.at) > c.opts.StaleAfter {
			continue
		}
		for i := range e.full.queues {
			queue := Known{Queue: e.full.queues[i], At: e.full.at}
			if want.Queue != "" {
				queue.Asked, queue.Since = true, e.since
			}
			if other, ok := byName[queue.Name]; ok {
				if other.Asked {
					queue.Asked, queue.Since = true, other.Since
				}
				if other.At.After(queue.At) {
					queue.Queue, queue.At = other.Queue, other.At
				}
			}
			byName[queue.Name] = queue
		}
	}
	return byName
}
