package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// timing holds the spans of watching; tests shorten them.
type timing struct {
	backoffMin, backoffMax time.Duration // between attempts to connect
	retry                  time.Duration // between attempts where listening does not work at all
	silence                time.Duration // without a notification until the canary is sent again
	canary                 time.Duration // for it to be heard
	tick                   time.Duration // between looks at which queues are wanted, and polls of those not armed
	rest                   time.Duration // after the bell has rung, before it is armed again
	check                  time.Duration // between checks that all is as it was
}

var defaultTiming = timing{
	backoffMin: 100 * time.Millisecond, backoffMax: 5 * time.Second,
	retry: 30 * time.Second, silence: 15 * time.Second, canary: 2 * time.Second,
	tick: 250 * time.Millisecond, rest: time.Second, check: 15 * time.Second,
}

// An unable error says why listening does not work although the server answers. It may yet, after a change of
// configuration or a fail-over, and so it is tried again, at leisure.
type unable struct{ reason string }

func (u unable) Error() string { return u.reason }

// Watch listens to the preset's channels and to its bell until ctx is done. It returns an error at once when the preset
// has neither.
func (e *Engine) Watch(ctx context.Context, sink driver.Sink) error {
	w := &watcher{engine: e, sink: sink, timing: e.timing}
	if e.cfg.SQL.Listen != nil {
		w.listen = *e.cfg.SQL.Listen
	}
	if !w.announced() && e.cfg.SQL.Bell == nil {
		return driver.Errorf(driver.Unavailable, "the preset announces nothing that could be listened to")
	}
	for failures := 0; ; failures++ {
		healthy, err := w.session(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end that was asked for
		}
		if healthy {
			failures = 0
		}
		w.push(driver.ModeEdgePoll, w.reason(ctx, err))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(w.pause(failures, err)):
		}
	}
}

// A watcher is one run of Watch. It lives in one goroutine.
type watcher struct {
	engine *Engine
	sink   driver.Sink
	listen driver.Listen // the zero Listen where the library announces nothing
	timing timing

	mode driver.Mode // pushed last, and why
	why  string
}

// announced says whether the job library announces jobs itself.
func (w *watcher) announced() bool { return len(w.listen.Channels) > 0 || w.listen.Query != "" }

// push tells the sink of a mode unless it knows.
func (w *watcher) push(mode driver.Mode, reason string) {
	if mode == w.mode && reason == w.why {
		return
	}
	w.mode, w.why = mode, reason
	w.sink.Push(mode, reason)
}

// reason words why listening ended.
func (w *watcher) reason(ctx context.Context, err error) string {
	if u, ok := errors.AsType[unable](err); ok {
		return u.reason
	}
	return fmt.Sprintf("not listening: %s", w.engine.classify(ctx, attempt{err: err}))
}

// pause is how long to wait before the next session; half of it by chance, so that many do not come at once.
func (w *watcher) pause(failures int, err error) time.Duration {
	if _, ok := errors.AsType[unable](err); ok {
		return w.timing.retry
	}
	d := w.timing.backoffMin
	for ; failures > 0 && d < w.timing.backoffMax; failures-- {
		d *= 2
	}
	d = min(d, w.timing.backoffMax)
	return d/2 + rand.N(d/2+1) //nolint:gosec // chance is enough
}
