package sample_test

import (
	"errors"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

func TestProbeNeverReturnsWhatIsOlderThanTheSignal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: 5 * time.Millisecond}
		s := newSampler(t, r, nil)
		go func() { _, _ = s.Probe(t.Context(), nil, want("mail"), 1, time.Now()) }()
		time.Sleep(time.Millisecond) // that read is under way and has seen an empty queue
		r.ready("mail", 1)
		view, err := s.Probe(t.Context(), nil, want("mail"), 1, time.Now())
		if err != nil || view.Queues[0].Ready != 1 {
			t.Errorf("Probe = %+v, %v, want the job that came before the signal", view, err)
		}
		if r.overlap != 1 {
			t.Errorf("%d reads at once, want 1", r.overlap)
		}
	})
}

func TestProbeOfAThousandStreamsIsOneRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: 5 * time.Millisecond}
		r.ready("mail", 1)
		s := newSampler(t, r, nil)
		since := time.Now()
		var streams sync.WaitGroup
		for range 1000 {
			streams.Go(func() {
				if view, err := s.Probe(t.Context(), nil, want("mail"), 1, since); err != nil || view.Queues[0].Ready != 1 {
					t.Errorf("Probe = %+v, %v", view, err)
				}
			})
		}
		streams.Wait()
		if got := r.reads(); got != 1 {
			t.Errorf("%d reads, want 1", got)
		}
	})
}

func TestGetAfterProbeCountsInFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Millisecond}
		r.ready("mail", 0)
		s := newSampler(t, r, nil)
		ready(t, s, "mail")
		r.ready("mail", 500)
		if view, err := s.Probe(t.Context(), nil, want("mail"), 1, time.Now()); err != nil || view.Queues[0].Ready != 1 {
			t.Fatalf("Probe = %+v, %v, want a count that stops at 1", view, err)
		}
		if got := ready(t, s, "mail"); got != 500 {
			t.Errorf("ready = %d, want 500", got)
		}
	})
}

func TestProbeOfABacklogLeavesTheFullCountInForce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: 200 * time.Millisecond}
		r.ready("mail", 500)
		s := newSampler(t, r, nil)
		ready(t, s, "mail")
		if _, err := s.Probe(t.Context(), nil, want("mail"), 1, time.Now()); err != nil {
			t.Fatal(err)
		}
		before := r.reads()
		if got := ready(t, s, "mail"); got != 500 {
			t.Errorf("ready = %d, want 500", got)
		}
		if got := r.reads() - before; got != 0 {
			t.Errorf("%d reads while the full count is fresh, want 0", got)
		}
	})
}

func TestProbeIsNotAnsweredFromACountThatStoppedEarlier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Millisecond}
		r.ready("mail", 500)
		s := newSampler(t, r, nil)
		since := time.Now()
		for _, c := range []struct{ limit, want int64 }{{1, 1}, {13, 13}, {5, 13}, {math.MaxInt64, 500}, {1, 500}} {
			view, err := s.Probe(t.Context(), nil, want("mail"), c.limit, since)
			if err != nil || view.Queues[0].Ready != c.want {
				t.Errorf("Probe to %d = %+v, %v, want %d", c.limit, view, err, c.want)
			}
		}
		var streams sync.WaitGroup
		for i := range 200 {
			streams.Go(func() {
				since := time.Now()
				limit := int64(1 + i%7)
				if view, err := s.Probe(t.Context(), nil, want("mail"), limit, since); err != nil || view.Queues[0].Ready < limit || view.At.Before(since) {
					t.Errorf("Probe to %d = %+v, %v", limit, view, err)
				}
			})
			if i%10 == 0 {
				time.Sleep(700 * time.Microsecond)
			}
		}
		streams.Wait()
	})
}

func TestSlowReadDoesNotDelayTheNextProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: 100 * time.Millisecond}
		s := newSampler(t, r, nil)
		probe := func() time.Duration {
			start := time.Now()
			if _, err := s.Probe(t.Context(), nil, want("mail"), 1, start); err != nil {
				t.Fatal(err)
			}
			return time.Since(start)
		}
		for range 3 {
			if took := probe(); took != r.takes {
				t.Errorf("a probe took %v, want its own read's %v", took, r.takes)
			}
		}
		start := time.Now()
		for range 100 {
			probe()
		}
		if busy, all := 100*r.takes, time.Since(start); busy > all/10+time.Second {
			t.Errorf("probes without end read for %v of %v, want a tenth", busy, all)
		}
	})
}

func TestProbeIsNoAnswerForAValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Millisecond}
		r.ready("mail", 0)
		s := newSampler(t, r, nil)
		if _, err := s.Probe(t.Context(), nil, want("mail"), 1, time.Now()); err != nil {
			t.Fatal(err)
		}
		ready(t, s, "mail")
		if probe, value := r.requests[0], r.requests[1]; !probe.Activity || value.Activity {
			t.Errorf("the probe read %+v and the value %+v, want activity alone and all fields", probe, value)
		}
		if _, err := s.Fresh(t.Context(), nil, want("mail"), time.Now().Add(time.Nanosecond)); err != nil {
			t.Fatal(err)
		}
		if fresh := r.requests[2]; fresh.Activity {
			t.Errorf("Fresh read %+v, want all fields", fresh)
		}
	})
}

func TestProbeThatOvertakesAValueDoesNotSpoilIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: 50 * time.Millisecond}
		r.ready("mail", 0)
		s := newSampler(t, r, nil)
		var asker sync.WaitGroup
		asker.Go(func() {
			if got := ready(t, s, "mail"); got != 0 {
				t.Errorf("ready = %d, want the 0 of when the read began", got)
			}
		})
		time.Sleep(10 * time.Millisecond)
		r.set(func(s *slow) { s.takes = time.Millisecond })
		r.ready("mail", 1)
		if _, err := s.Probe(t.Context(), nil, want("mail"), 1, time.Now()); err != nil {
			t.Fatal(err)
		}
		asker.Wait()
		if got := ready(t, s, "mail"); got != 1 {
			t.Errorf("ready = %d afterwards, want 1", got)
		}
	})
}

func TestZeroThatAProbeHasRefutedIsNoFallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &slow{takes: time.Millisecond}
		r.ready("mail", 0)
		s := newSampler(t, r, nil)
		ready(t, s, "mail")
		time.Sleep(100 * time.Millisecond)
		r.ready("mail", 1)
		if _, err := s.Probe(t.Context(), nil, want("mail"), 1, time.Now()); err != nil {
			t.Fatal(err)
		}
		r.set(func(s *slow) { s.err = errors.New("connection refused") })
		if view, err := s.Get(t.Context(), want("mail")); err == nil {
			t.Errorf("Get = %+v, want an error", view)
		}
	})
}

func TestProbeOfABusyQueueKeepsTheTimeOfTheNextDueJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		due := make(chan string, 10)
		r := &slow{queues: map[string]driver.Queue{"mail": {Known: true, Ready: 1, Scheduled: 1, NextDue: 5 * time.Second}}}
		s := newDueSampler(t, r, nil, func(queue string) { due <- queue })
		start := time.Now()
		ready(t, s, "mail")
		time.Sleep(time.Second)
		r.ready("mail", 1) // nothing about a due job
		if _, err := s.Probe(t.Context(), nil, want("mail"), 1, time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := <-due; got != "mail" || time.Since(start) != 5*time.Second {
			t.Errorf("%q after %v, want mail after 5s", got, time.Since(start))
		}
	})
}
