package faults

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// An answer is what KEDA was told on one poll.
type answer struct {
	asked, told time.Time
	value       float64
	active      bool
	err         error
}

// A witness polls one trigger without rest and has each answer judged as it comes.
type witness struct {
	scaler *rig.Scaler
	name   string             // the metric's
	judge  func(answer) error // tells what is wrong with an answer

	stop    chan struct{}
	stopped sync.WaitGroup

	mu      sync.Mutex
	answers []answer
	wrong   int // how many of them
}

// newWitness takes the metric's name, for which a server has to be there. judge is for answers, errors among them.
func newWitness(scaler *rig.Scaler, judge func(answer) error) *witness {
	return &witness{scaler: scaler, name: scaler.Name(), judge: judge, stop: make(chan struct{})}
}

// watch polls until end is called, or the test ends.
func (w *witness) watch(t *testing.T) {
	t.Helper()
	w.stopped.Go(func() {
		const pause = 50 * time.Millisecond
		for {
			w.poll(t)
			select {
			case <-w.stop:
				return
			case <-time.After(pause):
			}
		}
	})
	t.Cleanup(w.end)
}

func (w *witness) poll(t *testing.T) {
	got := answer{asked: time.Now()}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	values, active, err := w.scaler.GetMetricsAndActivity(ctx, w.name)
	if t.Context().Err() != nil {
		return // the test is over
	}
	got.told, got.active, got.err = time.Now(), active, err
	if err == nil && len(values) == 1 {
		got.value = values[0].Value.AsApproximateFloat64()
	}
	wrong := w.judge(got)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = append(w.answers, got)
	if wrong == nil {
		return
	}
	const enough = 3 // to tell what is wrong
	w.wrong++
	if w.wrong <= enough {
		t.Errorf("KEDA was told what it must not be: %v", wrong)
	}
}

// end ends the polls. It may be called again.
func (w *witness) end() {
	w.mu.Lock()
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	w.mu.Unlock()
	w.stopped.Wait()
}

// since returns the answers to what was asked after an instant.
func (w *witness) since(at time.Time) []answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, a := range w.answers {
		if a.asked.After(at) {
			return w.answers[i:len(w.answers):len(w.answers)]
		}
	}
	return nil
}

// between returns the answers to what was asked between two instants.
func (w *witness) between(from, to time.Time) []answer {
	answers := w.since(from)
	for i, a := range answers {
		if a.asked.After(to) {
			return answers[:i]
		}
	}
	return answers
}

// errorsSince counts them.
func (w *witness) errorsSince(at time.Time) int { return w.errorsBetween(at, time.Now()) }

// errorsBetween counts those that were told by the second instant to what was asked after the first.
func (w *witness) errorsBetween(from, to time.Time) int {
	n := 0
	for _, a := range w.since(from) {
		if a.err != nil && !a.told.After(to) {
			n++
		}
	}
	return n
}

// rightAfter waits for values without errors in a row and returns how long after an instant the first of them was told.
func (w *witness) rightAfter(t *testing.T, over time.Time) time.Duration {
	t.Helper()
	const inARow = 5
	var first time.Time
	rig.Eventually(t, grace, "KEDA is told the value again and again", func() bool {
		answers := w.since(over)
		begins := len(answers)
		for begins > 0 && answers[begins-1].err == nil {
			begins--
		}
		if len(answers)-begins < inARow {
			return false
		}
		first = answers[begins].told
		return true
	})
	return first.Sub(over)
}

// mayFail tells what is wrong with an error: only that a source, or leadsman itself, cannot be reached may be one.
func mayFail(err error) error {
	switch code := status.Code(err); code {
	case codes.Unavailable, codes.DeadlineExceeded:
		return nil
	default:
		return fmt.Errorf("error %s: %w", code, err)
	}
}
