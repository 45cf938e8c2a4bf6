package redis

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// errLost says that a session ended while it was watched.
var errLost = errors.New("the connection was lost")

// Watch implements driver.Watcher: in the best way that the server and the library offer, from session to session.
func (e *Engine) Watch(ctx context.Context, sink driver.Sink) error {
	e.sink.Store(&sink)
	defer e.sink.Store(nil)
	w := &watcher{engine: e, sink: sink}
	for failures := 0; ; failures++ {
		healthy, err := w.session(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if healthy { // most likely the next session begins soon, and nobody need be told
			failures = 0
		} else {
			w.push(driver.ModeEdgePoll, fmt.Sprintf("not connected: %s", classify(ctx, err)))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(e.pause(failures)):
		}
	}
}

// pause is how long to wait before the next session; half of it by chance, so that many do not come at once.
func (e *Engine) pause(failures int) time.Duration {
	d := e.timing.backoffMin << min(failures, 10)
	d = min(d, e.timing.backoffMax)
	return d/2 + rand.N(d/2+1) //nolint:gosec // chance is enough
}

// A watcher is one run of Watch. It lives in one goroutine.
type watcher struct {
	engine *Engine
	sink   driver.Sink

	mode driver.Mode // pushed last, and why
	why  string
}

// push tells the sink of a mode unless it knows.
func (w *watcher) push(mode driver.Mode, reason string) {
	if mode == w.mode && reason == w.why {
		return
	}
	w.mode, w.why = mode, reason
	w.sink.Push(mode, reason)
}

// session watches one session until it ends. healthy says that it was begun.
func (w *watcher) session(ctx context.Context) (healthy bool, err error) {
	s, err := w.engine.session(ctx)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.tracking {
		w.push(driver.ModeTracking, "")
		w.sink.Signal("") // for what was missed meanwhile
		return true, w.follow(ctx, s)
	}
	return true, w.listen(ctx, s)
}

// follow waits for the end of a session, and asks the server whether it is there when the connection may be gone.
func (w *watcher) follow(ctx context.Context, s *session) error {
	upgrade := time.NewTicker(w.engine.timing.upgrade)
	defer upgrade.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.life.Done():
			return errLost
		case <-upgrade.C:
			w.engine.upgrade(ctx, s)
		case <-s.dirty:
			if err := w.engine.check(ctx, s); err != nil {
				w.engine.drop(s)
				return err
			}
			w.sink.Signal("")
		}
	}
}

// check makes sure that the server answers, on a new connection if the old one is gone.
func (e *Engine) check(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeout(ctx, e.timing.pong)
	defer cancel()
	return s.client.Do(ctx, s.client.B().Ping().Build()).Error()
}

// upgrade begins another session where one does not track, and stays with it if that one does.
func (e *Engine) upgrade(ctx context.Context, s *session) {
	if s.tracking {
		return
	}
	better, err := e.connect(ctx)
	if err != nil {
		return
	}
	if better.tracking && e.current.CompareAndSwap(s, better) {
		s.end()
		return
	}
	better.end()
}
