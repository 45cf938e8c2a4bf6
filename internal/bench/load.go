package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// closedLoop has so many callers ask for a while, each again as soon as it has its answer; i counts what is asked. It
// returns how long that lasted, or the first error.
func closedLoop(ctx context.Context, atOnce int, lasts time.Duration, ask func(i int) error) (time.Duration, error) {
	var next atomic.Int64
	var group errgroup.Group
	start := time.Now()
	for range atOnce {
		group.Go(func() error {
			for time.Since(start) < lasts && ctx.Err() == nil {
				if err := ask(int(next.Add(1))); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	err := group.Wait()
	return time.Since(start), err
}

// steadyLoop asks at an even rate per second for a while, without waiting for the answers, and returns how often it did
// and how often in vain.
func steadyLoop(ctx context.Context, rate float64, lasts time.Duration, ask func(i int) error) (asked, failed int, err error) {
	var asking sync.WaitGroup
	var failures atomic.Int64
	for start := time.Now(); ctx.Err() == nil; asked++ {
		at := time.Duration(float64(asked) / rate * float64(time.Second))
		if at >= lasts {
			break
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(start.Add(at))):
		}
		i := asked
		asking.Go(func() {
			if ask(i) != nil {
				failures.Add(1)
			}
		})
	}
	asking.Wait()
	return asked, int(failures.Load()), ctx.Err()
}

// A stopwatch notes how long calls took. Any goroutine may use it.
type stopwatch struct {
	mu   sync.Mutex
	took []time.Duration
}

// of times a call that went well, and returns its error.
func (s *stopwatch) of(call func() error) error {
	asked := time.Now()
	err := call()
	took := time.Since(asked)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.took = append(s.took, took)
	}
	return err
}

// A loaded is what one server did under load, run by run.
type loaded struct {
	rates      []float64 // calls per second
	p50s, p99s []time.Duration
	costs      []time.Duration // the server's processor time per call
}

// note adds a run: what the stopwatch has, which it clears, how long it lasted, and the processor time it took.
func (l *loaded) note(s *stopwatch, lasted, used time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.rates = append(l.rates, float64(len(s.took))/lasted.Seconds())
	l.p50s = append(l.p50s, median(s.took))
	l.p99s = append(l.p99s, percentile(s.took, 0.99))
	l.costs = append(l.costs, used/time.Duration(max(1, len(s.took))))
	s.took = s.took[:0]
}

// latencyRows set the latencies of two servers beside each other.
func latencyRows(what string, ours, limit *loaded, against string) []row {
	return []row{
		{what + "p50", took(median(ours.p50s)), took(median(limit.p50s)), against, target{}},
		{what + "p99", took(median(ours.p99s)), took(median(limit.p99s)), against, target{}},
	}
}
