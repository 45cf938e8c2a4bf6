package storagetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
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

// A record is what a Sink was told, in order.
type record struct {
	modes   []driver.Mode
	reasons []string // of modes
	signals []string
}

// A recorder is a Sink that remembers.
type recorder struct {
	changed chan struct{} // holds a token after a change

	mu  sync.Mutex
	all record
}

func newRecorder() *recorder { return &recorder{changed: make(chan struct{}, 1)} }

// Signal implements driver.Sink.
func (r *recorder) Signal(queue string) {
	r.change(func(all *record) { all.signals = append(all.signals, queue) })
}

// Push implements driver.Sink.
func (r *recorder) Push(mode driver.Mode, reason string) {
	r.change(func(all *record) { all.modes, all.reasons = append(all.modes, mode), append(all.reasons, reason) })
}

func (r *recorder) change(do func(*record)) {
	r.mu.Lock()
	do(&r.all)
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

func (r *recorder) snapshot() record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return record{slices.Clone(r.all.modes), slices.Clone(r.all.reasons), slices.Clone(r.all.signals)}
}

// await waits until a condition on the record holds, looking again after each change.
func (r *recorder) await(t *testing.T, what string, condition func(record) bool) {
	t.Helper()
	for timeout := time.After(patience); !condition(r.snapshot()); {
		r.next(t, what, timeout)
	}
}

// next waits for a change.
func (r *recorder) next(t *testing.T, what string, timeout <-chan time.Time) {
	t.Helper()
	select {
	case <-r.changed:
	case <-timeout:
		t.Fatalf("not within %s: %s; told: %q", patience, what, r.snapshot())
	}
}

// watch starts a Watch, waits until it is in its best mode, and makes sure that it ends well with the test.
func (s *subject) watch(h Harness) *recorder {
	s.t.Helper()
	r := newRecorder()
	stop := s.startWatch(context.Background(), r)
	s.t.Cleanup(stop)
	r.await(s.t, "the mode is "+string(h.Abilities.Push), func(told record) bool {
		return len(told.modes) > 0 && told.modes[len(told.modes)-1] == h.Abilities.Push
	})
	return r
}

// startWatch starts a Watch and returns what ends it.
func (s *subject) startWatch(ctx context.Context, sink driver.Sink) (stop func()) {
	s.t.Helper()
	watcher, ok := s.reader.(driver.Watcher)
	if !ok {
		s.t.Fatalf("%T declares a push mode and is no driver.Watcher", s.reader)
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- watcher.Watch(ctx, sink) }()
	return func() {
		s.t.Helper()
		cancel()
		select {
		case err := <-done:
			if err != nil {
				s.t.Errorf("Watch = %v after its context was done, want nil", err)
			}
		case <-time.After(patience):
			s.t.Fatalf("Watch did not return within %s of its context's end", patience)
		}
	}
}

func testMode(t *testing.T, h Harness) {
	s := open(t, h)
	told := s.watch(h).snapshot()
	if reason := told.reasons[len(told.reasons)-1]; reason != "" && h.Abilities.Push != driver.ModeEdgePoll {
		t.Errorf("the best mode has a reason: %q", reason)
	}
}

func testSignal(t *testing.T, h Harness) {
	s := open(t, h)
	r := s.watch(h)
	before := len(r.snapshot().signals)
	s.Insert("mail", 1)
	r.await(t, "a signal for mail", func(told record) bool {
		return slices.ContainsFunc(told.signals[before:], func(queue string) bool { return queue == "mail" || queue == "" })
	})
}

// Whoever waits for a job reads first, and again after each signal.
func testSignalAfterRead(t *testing.T, h Harness) {
	s := open(t, h)
	r := s.watch(h)
	for n := int64(1); n <= 3; n++ {
		if got := s.queue("mail").Ready; got != n-1 {
			t.Fatalf("ready = %d, want %d", got, n-1)
		}
		before := len(r.snapshot().signals)
		s.Insert("mail", 1)
		r.await(t, "a signal for mail", func(told record) bool {
			return slices.ContainsFunc(told.signals[before:], func(queue string) bool { return queue == "mail" || queue == "" })
		})
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
	stop := s.startWatch(t.Context(), r)
	r.await(t, "a mode", func(told record) bool { return len(told.modes) > 0 })
	stop()
}

func testWatchEndsBeforeItBegan(t *testing.T, h Harness) {
	s := open(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.startWatch(ctx, newRecorder())()
}
