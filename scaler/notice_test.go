package scaler_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

// status returns the server's first source as people see it.
func (b *bed) status() scaler.SourceStatus {
	b.t.Helper()
	everybody, err := b.server.Identify(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return b.server.Sources(everybody)[0]
}

func TestSourceWithoutAWatcherWakesWithinAQuarterOfASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", polled{store}))
		h := b.listen(ref("queue", "mail"))
		time.Sleep(time.Minute + 7*time.Millisecond)
		enqueued := time.Now()
		store.Enqueue("mail", 1)
		for len(h.times()) == 0 && time.Since(enqueued) < time.Second {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(enqueued); took > 300*time.Millisecond {
			t.Errorf("the wake took %v, want a poll's interval at most", took)
		}
		if got := b.status(); got.PushMode != driver.ModeEdgePoll || !strings.Contains(got.PushReason, "cannot watch") {
			t.Errorf("push = %q, %q, want edge poll and why", got.PushMode, got.PushReason)
		}
	})
}

func TestEdgePollRestsWhileNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", polled{store}))
		time.Sleep(time.Minute)
		if got := store.Reads(); got != 0 {
			t.Errorf("%d reads without any stream, want none", got)
		}
		h := b.listen(ref("queue", "mail"))
		time.Sleep(time.Minute)
		if got := store.Reads(); got < 200 || got > 260 {
			t.Errorf("%d reads in a minute of waiting, want four a second", got)
		}
		store.Set("mail", memory.State{Ready: 5, Running: 1}) // active: nothing to wait for
		time.Sleep(time.Second)
		before := store.Reads()
		time.Sleep(time.Minute)
		if got := store.Reads() - before; got > 8 {
			t.Errorf("%d reads in a minute of activity, want the resync's", got)
		}
		h.close()
	})
}

func TestWatcherThatDiesLeavesPollingAndItsReason(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		reason string
	}{
		"with an error":              {errors.New("LISTEN is not possible through this pooler"), "LISTEN is not possible through this pooler"},
		"without, as it must not do": {nil, "gave no reason"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				b := serve(t, nil, source(t, "jobs", dying{Store: store, after: time.Minute, err: c.err}))
				h := b.listen(ref("queue", "mail"))
				if got := b.status(); got.PushMode != driver.ModeDirect || got.PushReason != "" {
					t.Errorf("push = %q, %q, want direct", got.PushMode, got.PushReason)
				}
				time.Sleep(2 * time.Minute)
				if got := b.status(); got.PushMode != driver.ModeEdgePoll || !strings.Contains(got.PushReason, c.reason) {
					t.Errorf("push = %q, %q, want edge poll and %q", got.PushMode, got.PushReason, c.reason)
				}
				store.Enqueue("mail", 1)
				time.Sleep(300 * time.Millisecond)
				if got := len(h.times()); got != 1 {
					t.Errorf("%d trues after an enqueue, want 1", got)
				}
			})
		})
	}
}

// Signals may be lost: a producer that nobody hears of is found by the resync.
func TestLostSignalIsHealedByTheResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", deaf{store}))
		h := b.listen(ref("queue", "mail"))
		time.Sleep(time.Minute)
		store.Enqueue("mail", 1)
		time.Sleep(11 * time.Second)
		if got := len(h.times()); got < 1 {
			t.Error("a job that nothing signalled was not found within 11 s")
		}
	})
}

// Any producer can tell what no watcher sees, of one queue or of all.
func TestSignalFromOutsideWakesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", deaf{store}))
		h := b.listen(ref("queue", "mail"))
		time.Sleep(time.Second)
		if !b.server.Signal("jobs", "mail") || b.server.Signal("unheard-of", "mail") {
			t.Error("Signal does not tell which sources exist")
		}
		time.Sleep(time.Second)
		if got := len(h.times()); got != 0 {
			t.Errorf("%d trues for a signal without a job, want none: a signal is a hint", got)
		}
		for i, queue := range []string{"mail", ""} {
			store.Enqueue("mail", 1)
			b.server.Signal("jobs", queue)
			synctest.Wait()
			if got := len(h.times()); got != i+1 {
				t.Errorf("%d trues after the signal of %q, want %d", got, queue, i+1)
			}
			store.Discard("mail")
			time.Sleep(20 * time.Second)
		}
	})
}
