package postgres

import (
	"context"
	"time"
)

// Hurry makes watching retry and doubt sooner than a test would like to wait for.
func (e *Engine) Hurry(tune ...Tune) {
	e.timing = timing{
		backoffMin: 5 * time.Millisecond, backoffMax: 50 * time.Millisecond, retry: 200 * time.Millisecond,
		silence: 300 * time.Millisecond, canary: time.Second,
		tick: 10 * time.Millisecond, rest: 40 * time.Millisecond, check: 300 * time.Millisecond,
	}
	for _, change := range tune {
		change(&e.timing)
	}
}

// A Tune changes one of the spans that Hurry sets.
type Tune func(*timing)

// Rest is how long a bucket is not armed after the bell has rung.
func Rest(d time.Duration) Tune { return func(t *timing) { t.rest = d } }

// Check is how often a session makes sure that all is as it was.
func Check(d time.Duration) Tune { return func(t *timing) { t.check = d } }

// Tick is how often a bell looks what is wanted, and polls.
func Tick(d time.Duration) Tune { return func(t *timing) { t.tick = d } }

// Deadline bounds each call to the server, and no canary is sent in silence.
func Deadline(d time.Duration) Tune {
	return func(t *timing) { t.canary, t.silence = d, time.Hour }
}

// ForgetPending breaks the bell: it does not wait for the transactions that were in progress when it was armed.
func (e *Engine) ForgetPending() { e.arming = []armStep{(*bell).lock, (*bell).announce} }

// SampleFirst breaks the bell: the server has sampled when the locks are taken.
func (e *Engine) SampleFirst() {
	sampled := func(*bell, context.Context, buckets) error {
		time.Sleep(2 * time.Millisecond)
		return nil
	}
	e.arming = []armStep{(*bell).announce, sampled, (*bell).lock, (*bell).notePending}
}
