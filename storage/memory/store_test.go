package memory_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
	"github.com/leadsman/leadsman/storage/storagetest"
)

func TestMain(m *testing.M) { os.Exit(storagetest.Main(m)) }

func read(t *testing.T, s *memory.Store, want driver.Want) driver.Queue {
	t.Helper()
	reading, err := s.Read(t.Context(), driver.Request{Wants: []driver.Want{want}})
	if err != nil {
		t.Fatal(err)
	}
	return reading.Queues[0]
}

func TestScheduledJobsBecomeReadyAsTimePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		s.Schedule("mail", 2, time.Minute)
		s.Enqueue("mail", 1)
		for _, step := range []struct {
			wait time.Duration
			want driver.Queue
		}{
			{0, driver.Queue{Name: "mail", Known: true, Ready: 1, Scheduled: 2, NextDue: time.Minute}},
			{time.Minute - 1, driver.Queue{Name: "mail", Known: true, Ready: 1, Scheduled: 2, NextDue: 1, Oldest: time.Minute - 1}},
			{1, driver.Queue{Name: "mail", Known: true, Ready: 3, Oldest: time.Minute}},
		} {
			time.Sleep(step.wait)
			if diff := cmp.Diff(step.want, read(t, s, driver.Want{Queue: "mail"})); diff != "" {
				t.Errorf("after another %s (-want +got):\n%s", step.wait, diff)
			}
		}
	})
}

func TestSetMakesTheQueueLookLikeTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		s.Enqueue("mail", 100)
		pool := driver.Pool{Workers: 2, Capacity: 20}
		s.Set("mail", memory.State{
			Ready: 3, Running: 4, Oldest: 5 * time.Minute, Due: []time.Duration{time.Hour, time.Second}, Pool: &pool,
		})
		want := driver.Queue{
			Name: "mail", Known: true, Ready: 3, Running: 4, Scheduled: 2,
			Oldest: 5 * time.Minute, NextDue: time.Second, Pool: &driver.Pool{Workers: 2, Capacity: 20},
		}
		pool.Workers = 99 // the Store holds a copy
		if diff := cmp.Diff(want, read(t, s, driver.Want{Queue: "mail"})); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestClaimTakesWhatIsReadyOldestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		s.Schedule("mail", 1, -time.Hour)
		s.Schedule("mail", 1, -time.Minute)
		s.Schedule("mail", 1, time.Hour)
		if got := s.Claim("mail", 1); got != 1 {
			t.Errorf("claimed %d, want 1", got)
		}
		if got := read(t, s, driver.Want{Queue: "mail"}).Oldest; got != time.Minute {
			t.Errorf("oldest = %s, want 1m: the older job was claimed", got)
		}
		s.Pause("mail", true)
		if got := s.Claim("mail", 5); got != 0 {
			t.Errorf("claimed %d from a paused queue", got)
		}
		s.Pause("mail", false)
		if got := s.Claim("mail", 5); got != 1 {
			t.Errorf("claimed %d, want 1: the last job is not due", got)
		}
		s.Finish("mail", 5)
		if got := read(t, s, driver.Want{Queue: "mail"}).Running; got != 0 {
			t.Errorf("running = %d after all have finished", got)
		}
	})
}

func TestFailMakesReadsFailUntilItIsTakenBack(t *testing.T) {
	s := memory.New()
	s.Enqueue("mail", 1)
	down := driver.Errorf(driver.Unavailable, "the database is down")
	s.Fail(down)
	request := driver.Request{Wants: []driver.Want{{Queue: "mail"}}}
	if _, err := s.Read(t.Context(), request); !errors.Is(err, down) {
		t.Errorf("Read = %v, want %v", err, down)
	}
	s.Fail(nil)
	if got := read(t, s, driver.Want{Queue: "mail"}).Ready; got != 1 {
		t.Errorf("ready = %d, want 1", got)
	}
	if got := s.Reads(); got != 2 {
		t.Errorf("Reads() = %d, want 2: failed reads count", got)
	}
}

// A stuckSink holds every call until it is released.
type stuckSink struct {
	release chan struct{}
	signals chan string
}

func (s stuckSink) Push(driver.Mode, string) {}
func (s stuckSink) Signal(queue string)      { <-s.release; s.signals <- queue }

func TestEnqueueDoesNotWaitForASlowSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		sink := stuckSink{release: make(chan struct{}), signals: make(chan string, 10)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Watch(ctx, sink) }()
		synctest.Wait()
		for range 1000 {
			s.Enqueue("mail", 1)
		}
		synctest.Wait()
		for range 1000 {
			s.Enqueue("mail", 1)
		}
		close(sink.release)
		synctest.Wait()
		if got := len(sink.signals); got < 2 || got > 3 {
			t.Errorf("%d signals of 2000 enqueues, want one for those before and one for those during the first", got)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch = %v, want nil", err)
		}
	})
}

func TestEveryWatcherIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		ctx, cancel := context.WithCancel(t.Context())
		released := make(chan struct{})
		close(released)
		var sinks [2]stuckSink
		for i := range sinks {
			sinks[i] = stuckSink{release: released, signals: make(chan string, 10)}
			go s.Watch(ctx, sinks[i]) //nolint:errcheck // returns nil always
		}
		synctest.Wait()
		s.Enqueue("mail", 1)
		s.Fail(errors.New("down"))
		synctest.Wait()
		for i := range sinks {
			got := map[string]bool{<-sinks[i].signals: true, <-sinks[i].signals: true}
			if !got["mail"] || !got[""] {
				t.Errorf("watcher %d was told of %v, want mail and every queue", i, got)
			}
		}
		cancel()
		synctest.Wait()
	})
}
