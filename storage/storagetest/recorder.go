package storagetest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// Told is what a Watcher has told so far.
type Told struct {
	Mode    driver.Mode    // the last; "" before the first
	Reason  string         // of Mode
	Modes   []driver.Mode  // all, in order
	Signals map[string]int // how many, by queue; those of "" are for all queues
}

// Of counts the signals at which a queue is to be read: its own, and those for all queues.
func (t Told) Of(queue string) int { return t.Signals[queue] + t.Signals[""] }

// A Recorder is a driver.Sink that remembers.
type Recorder struct {
	changed chan struct{} // holds a token after a change

	mu   sync.Mutex
	told Told
}

func newRecorder() *Recorder {
	return &Recorder{changed: make(chan struct{}, 1), told: Told{Signals: map[string]int{}}}
}

// Watch watches until the test ends, and fails it unless Watch returns nil then.
func Watch(tb testing.TB, watcher driver.Watcher) *Recorder {
	tb.Helper()
	r := newRecorder()
	tb.Cleanup(startWatch(context.Background(), tb, watcher, r))
	return r
}

// startWatch starts a Watch and returns what ends it.
func startWatch(ctx context.Context, tb testing.TB, watcher driver.Watcher, sink driver.Sink) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- watcher.Watch(ctx, sink) }()
	return func() {
		tb.Helper()
		cancel()
		select {
		case err := <-done:
			if err != nil {
				tb.Errorf("Watch = %v after its context was done, want nil", err)
			}
		case <-time.After(patience):
			tb.Fatalf("Watch did not return within %s of its context's end", patience)
		}
	}
}

// Signal implements driver.Sink.
func (r *Recorder) Signal(queue string) {
	r.change(func(told *Told) { told.Signals[queue]++ })
}

// Push implements driver.Sink.
func (r *Recorder) Push(mode driver.Mode, reason string) {
	r.change(func(told *Told) {
		told.Mode, told.Reason = mode, reason
		told.Modes = append(told.Modes, mode)
	})
}

func (r *Recorder) change(do func(*Told)) {
	r.mu.Lock()
	do(&r.told)
	r.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Told is what was told until now.
func (r *Recorder) Told() Told {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := r.told
	told.Modes, told.Signals = slices.Clone(told.Modes), maps.Clone(told.Signals)
	return told
}

// Await waits until what was told fits, which is asked again after each change and so has to depend on nothing else.
// One goroutine at a time may wait.
func (r *Recorder) Await(tb testing.TB, what string, fits func(Told) bool) {
	tb.Helper()
	for timeout := time.After(patience); !fits(r.Told()); {
		r.next(tb, what, timeout)
	}
}

// next waits for a change.
func (r *Recorder) next(tb testing.TB, what string, timeout <-chan time.Time) {
	tb.Helper()
	select {
	case <-r.changed:
	case <-timeout:
		tb.Fatalf("not within %s: %s; told: %+v", patience, what, r.Told())
	}
}

// AwaitMode waits until the Watcher is in a mode for a reason that says why; "" is any.
func (r *Recorder) AwaitMode(tb testing.TB, mode driver.Mode, why string) {
	tb.Helper()
	r.Await(tb, "the mode is "+string(mode)+" "+why, func(told Told) bool {
		return told.Mode == mode && strings.Contains(told.Reason, why)
	})
}

// AwaitWatch waits until the Watcher is in a mode and has signalled all queues, for what it had missed.
func (r *Recorder) AwaitWatch(tb testing.TB, mode driver.Mode) {
	tb.Helper()
	r.Await(tb, "the mode is "+string(mode)+", and a signal for all", func(told Told) bool {
		return told.Mode == mode && told.Signals[""] > 0
	})
}

// AwaitSignal waits until there are more signals of a queue than there were before.
func (r *Recorder) AwaitSignal(tb testing.TB, queue string, before Told) {
	tb.Helper()
	r.Await(tb, "a signal of "+queue, func(told Told) bool { return told.Of(queue) > before.Of(queue) })
}
