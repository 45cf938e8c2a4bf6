package main

import (
	"context"
	"time"
)

// trackList returns a function that calls wake whenever the list of a race gets its first job: it counts the list, which
// arms the server's tracking, waits for the invalidation, and counts again.
func trackList(ctx context.Context, addr string) (follow func(wake func()) error, err error) {
	conn, err := trackRESP(ctx, addr)
	if err != nil {
		return nil, err
	}
	before, err := conn.do("LLEN", wakeQueue)
	if err != nil {
		return nil, err
	}
	return func(wake func()) error {
		for {
			if err := conn.await(); err != nil {
				return err
			}
			now, err := conn.do("LLEN", wakeQueue)
			if err != nil {
				return err
			}
			if before.n == 0 && now.n > 0 {
				wake()
			}
			before = now
		}
	}, nil
}

// A bareTracker is what trackList does without a server around it, for one job at a time: the least that it takes to
// hear of a job in Redis. Its methods are for one goroutine.
type bareTracker struct {
	conn  *respConn
	reads bool // it counts the list, once it has heard
}

// listen implements a contender's.
func (t *bareTracker) listen(_ context.Context, heard func(time.Time)) error {
	if _, err := t.conn.do("LLEN", wakeQueue); err != nil { // passes over what was said of the last job's end
		return err
	}
	go func() {
		if t.conn.await() != nil {
			return
		}
		if t.reads {
			if _, err := t.conn.do("LLEN", wakeQueue); err != nil {
				return
			}
		}
		heard(time.Now())
	}()
	return nil
}
