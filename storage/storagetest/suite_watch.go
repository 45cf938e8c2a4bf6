package storagetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// watchTests are about driver.Watcher.
var watchTests = []suiteTest{
	{"WatchReportsItsMode", push, testMode},
	{"WatchSignalsAnInsertWithoutARead", unarmed, testSignal},
	{"WatchSignalsTheInsertAfterARead", push, testSignalAfterRead},
	{"WatchSignalsQueuesThatAreReadAmongAll", pushOfAll, testSignalAmongAll},
	{"WatchSignalsAfterTheLastInsertOfABurst", push, testBurst},
	{"WatchReturnsNilWhenItsContextIsDone", push, testWatchEnds},
	{"WatchReturnsNilWhenItsContextWasDoneBefore", push, testWatchEndsBeforeItBegan},
}

// watch watches until the test ends, and returns when the watcher is in its best mode.
func (s *subject) watch(h Harness) *Recorder {
	s.t.Helper()
	r := Watch(s.t, s.watcher)
	r.AwaitMode(s.t, h.Abilities.Push, "")
	return r
}

func testMode(t *testing.T, h Harness) {
	s := open(t, h)
	if reason := s.watch(h).Told().Reason; reason != "" && h.Abilities.Push != driver.ModeEdgePoll {
		t.Errorf("the best mode has a reason: %q", reason)
	}
}

func testSignal(t *testing.T, h Harness) {
	s := open(t, h)
	r := s.watch(h)
	before := r.Told()
	s.Insert("mail", 1)
	r.AwaitSignal(t, "mail", before)
}

// Whoever waits for a job reads first, and again after each signal.
func testSignalAfterRead(t *testing.T, h Harness) {
	s := open(t, h)
	r := s.watch(h)
	for n := int64(1); n <= 3; n++ {
		if got := s.queue("mail").Ready; got != n-1 {
			t.Fatalf("ready = %d, want %d", got, n-1)
		}
		before := r.Told()
		s.Insert("mail", 1)
		r.AwaitSignal(t, "mail", before)
	}
}

// testSignalAmongAll reads all queues, and again on signals only, as the server does for whoever waits for a job of any.
func testSignalAmongAll(t *testing.T, h Harness) {
	s := open(t, h)
	r := s.watch(h)
	ready := func() (n int64) {
		for _, q := range s.read(0, driver.Want{}).Queues {
			n += q.Ready
		}
		return n
	}
	for i, name := range []string{"mail", "images", "mail", "images", "mail", "new"} {
		if got := ready(); got != int64(i) {
			t.Fatalf("ready = %d, want %d", got, i)
		}
		select {
		case <-r.changed: // so that a signal of before the insert is no help
		default:
		}
		s.Insert(name, 1)
		timeout := time.After(patience)
		for got := int64(i); got == int64(i); got = ready() {
			r.next(t, "a signal for "+name, timeout)
		}
	}
}

// testBurst reads on signals only, as the server does: the last insert must not be lost, although the job library
// may announce only the first of several.
func testBurst(t *testing.T, h Harness) {
	s := open(t, h)
	r := s.watch(h)
	const n = 20
	seen := s.queue("mail").Ready
	for burst := int64(1); burst <= 3; burst++ {
		for range n {
			s.Insert("mail", 1)
			select {
			case <-r.changed: // so that a signal of before the last insert is no help
				seen = s.queue("mail").Ready
			default:
			}
		}
		timeout := time.After(patience)
		for ; seen < burst*n; seen = s.queue("mail").Ready {
			r.next(t, fmt.Sprintf("a signal after the last of %d inserts; seen: %d", burst*n, seen), timeout)
		}
	}
}

func testWatchEnds(t *testing.T, h Harness) {
	s := open(t, h)
	r := newRecorder()
	stop := startWatch(t.Context(), t, s.watcher, r)
	r.Await(t, "a mode", func(told Told) bool { return len(told.Modes) > 0 })
	stop()
}

func testWatchEndsBeforeItBegan(t *testing.T, h Harness) {
	s := open(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	startWatch(ctx, t, s.watcher, newRecorder())()
}
