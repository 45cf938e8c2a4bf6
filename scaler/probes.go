package scaler

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leadsman/leadsman/scaler/internal/sample"
	"github.com/leadsman/leadsman/storage"
)

const (
	// stallAfter is how long a loop may stand still before the process is better started again. No loop waits for
	// longer than a second by itself.
	stallAfter = 30 * time.Second
	// checkAfter is when a source that could not be read is tried again for a readiness probe.
	checkAfter = 5 * time.Second
	// checkWait bounds how long a probe waits for that: Kubernetes gives it a second. What comes later shows in the
	// next one.
	checkWait = 500 * time.Millisecond
)

// Stalled returns the loops that have stopped: of the hub that passes signals on, of the sources that are watched, of
// their reads. A backend that is down, or answers slowly, stalls nothing; a process that is stalled does not recover.
func (s *Server) Stalled() []string {
	now := time.Now()
	var stalled []string
	for _, src := range s.order {
		if s.hub.Held(src.Name()) > stallAfter {
			stalled = append(stalled, "the signals of source "+src.Name())
		}
		if since := src.lastBeat(); !since.IsZero() && now.Sub(since) > stallAfter {
			stalled = append(stalled, "the watch over source "+src.Name())
		}
		if src.samples.Stalled(now, stallAfter) {
			stalled = append(stalled, "the reads of source "+src.Name())
		}
	}
	return stalled
}

// A SourceState says whether a source can be read.
type SourceState string

// The states of a source.
const (
	SourceUnread  SourceState = "unread"  // nobody has tried yet
	SourceReady   SourceState = "ready"   // the last read was good
	SourceFailing SourceState = "failing" // the last read failed
)

// stateOf is what the reads of a source came to.
func stateOf(st *sample.Status) SourceState {
	switch {
	case st.Tried.IsZero():
		return SourceUnread
	case st.Err != nil:
		return SourceFailing
	default:
		return SourceReady
	}
}

// Readiness says whether the server should be asked.
type Readiness struct {
	// Serving is false before Run has begun and from the beginning of its end.
	Serving bool
	// Sources are in the order of the configuration.
	Sources []SourceReadiness
}

// SourceReadiness is one source's part. It is shown to whoever asks, so it holds no error's text.
type SourceReadiness struct {
	Name  string
	State SourceState
	// Kind is what sort of failure it is: unavailable, timeout, denied, schema, contract; "" when nothing fails.
	Kind string
	Age  time.Duration // of the newest good read; 0 before the first
}

// Ready says whether the server serves and can read at least one of its sources. One that is dead takes no replica
// out of service.
func (r *Readiness) Ready() bool {
	if !r.Serving {
		return false
	}
	for i := range r.Sources {
		if r.Sources[i].State == SourceReady {
			return true
		}
	}
	return len(r.Sources) == 0
}

// Readiness tries the sources that nobody has read yet, and those whose last read failed, but each of them seldom.
func (s *Server) Readiness(ctx context.Context) Readiness {
	s.tryFailing(ctx)
	r := Readiness{Serving: s.isServing()}
	now := time.Now()
	for _, src := range s.order {
		st := src.samples.Status()
		one := SourceReadiness{Name: src.Name(), State: stateOf(&st), Kind: kindOf(st.Err)}
		if !st.LastRead.IsZero() {
			one.Age = now.Sub(st.LastRead)
		}
		r.Sources = append(r.Sources, one)
	}
	return r
}

func (s *Server) isServing() bool {
	select {
	case <-s.draining:
		return false
	default:
		return s.serving.Load()
	}
}

// tryFailing reads all that is due at once, so that a dead source does not hold up another.
func (s *Server) tryFailing(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkWait)
	defer cancel()
	var checks sync.WaitGroup
	for _, src := range s.order {
		st := src.samples.Status()
		if st.Tried.IsZero() || st.Err != nil && time.Since(st.Tried) > checkAfter {
			checks.Go(func() { _ = src.samples.Check(ctx) }) // what it comes to is in the status
		}
	}
	checks.Wait()
}

// kindOf names an error's kind.
func kindOf(err error) string {
	unread, ok := errors.AsType[*storage.Error](err)
	if !ok {
		return ""
	}
	return unread.Kind.String()
}
