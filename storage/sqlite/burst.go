package sqlite

import (
	"context"
	"time"
)

// burstOffsets are the times after the last event at which the counter is looked at. In WAL mode the event tells
// of a write to the log, and the commit becomes visible after that: in microseconds as a rule, in milliseconds
// where each commit waits for the disk. The looks do not end with the first change, because one event may stand
// for several commits.
var burstOffsets = [...]time.Duration{
	0,
	100 * time.Microsecond,
	300 * time.Microsecond,
	time.Millisecond,
	3 * time.Millisecond,
	10 * time.Millisecond,
	30 * time.Millisecond,
}

const (
	// lookGap is the least time between two looks, for a transaction that writes on and on.
	lookGap = 100 * time.Microsecond
	// signalGap is how long nobody looks or listens after a signal: under a stream of commits the sink would only merge
	// what comes sooner, and the kernel merges the events that are left in its queue meanwhile.
	signalGap = 2 * time.Millisecond
	// shortest is what the runtime's timers can wait; less is slept in the kernel.
	shortest = 500 * time.Microsecond
)

// burst looks at the counter at each offset after the last event; an event in the middle begins it anew.
func (w *watch) burst(ctx context.Context) {
	w.lastEvent = time.Now()
	for step := 0; step < len(burstOffsets); {
		event := w.pauseUntil(ctx, w.lookAt(step))
		switch {
		case ctx.Err() != nil:
			return
		case event:
			w.lastEvent = time.Now()
			step = 0
			if time.Since(w.lastCheck) > pollEvery { // a stream of events keeps us from polling
				w.checkFolder()
			}
			continue
		case step == len(burstOffsets)-1:
			w.seen = traceOf(w.path) // before the look: what is written between them shows at the next poll
		}
		w.look() //nolint:contextcheck // see counter.moved
		step++
	}
}

// lookAt is when the look of this step is due.
func (w *watch) lookAt(step int) time.Time {
	at, least := w.lastEvent.Add(burstOffsets[step]), w.lastLook.Add(lookGap)
	if at.Before(least) {
		return least
	}
	return at
}

// look signals if the counter moved, or if it cannot be read: then a sample will say why.
func (w *watch) look() {
	moved, err := w.counter.moved()
	w.lastLook = time.Now()
	if err != nil {
		w.log.Debug("sqlite counter failed", "file", w.path, "error", err)
	}
	if moved || err != nil {
		w.signal()
	}
}

// pauseUntil waits until at, or returns true when an event of the file arrives before. If at is past it returns
// without asking, so that events one after the other do not keep a look from its turn.
func (w *watch) pauseUntil(ctx context.Context, at time.Time) (event bool) {
	if w.rest(ctx) && w.drain() {
		return true
	}
	switch d := time.Until(at); {
	case d <= 0:
		return false
	case d < shortest:
		shortSleep(d)
		return w.drain()
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return false
		case event, open := <-w.folder.events():
			if !open {
				w.detach()
			} else if w.concerns(event) {
				return true
			}
		}
	}
}

// rest waits out what is left of the gap after a signal and says whether there was any.
func (w *watch) rest(ctx context.Context) bool {
	left := time.Until(w.lastSignal.Add(signalGap))
	if left <= 0 {
		return false
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return true
}

// drain takes the events that have arrived and says whether one was of the file.
func (w *watch) drain() (event bool) {
	for {
		select {
		case next, open := <-w.folder.events():
			if !open {
				w.detach()
				return event
			}
			event = w.concerns(next) || event
		default:
			return event
		}
	}
}
