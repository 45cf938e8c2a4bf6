package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leadsman/leadsman/storage/driver"
)

// A session is one connection that listens.
type session struct {
	w      *watcher
	conn   *pgx.Conn
	canary string // channel

	state   bellState
	bell    *bell     // nil where there is none to listen to
	checkAt time.Time // when to look for the bell again

	heard time.Time // the last notification
	asked time.Time // when the canary was sent; zero once it was heard
}

// drain takes notifications as they come, always, so that the server's queue of them never fills because of
// us. Between them it does what is due: the echoes, the bell's work and, in silence, the canary.
func (s *session) drain(ctx context.Context) error {
	echoes := newEchoes(s.w.listen.Echo)
	s.heard = time.Now()
	for {
		n, err := s.w.next(ctx, s.conn, echoes.until(s.until()))
		now := time.Now()
		if err != nil && !errors.Is(err, errQuiet) {
			return err
		}
		if n != nil {
			err = s.take(ctx, n, now, echoes)
		} else {
			err = s.doubt(ctx, now)
		}
		if err == nil {
			err = s.work(ctx, now)
		}
		if err != nil {
			return err
		}
		echoes.due(now, s.w.sink.Signal)
	}
}

// take takes a notification.
func (s *session) take(ctx context.Context, n *pgconn.Notification, now time.Time, echoes *echoes) error {
	s.heard = now
	switch {
	case n.Channel == s.canary:
		s.asked = time.Time{}
	case s.bell != nil && n.Channel == s.bell.keys.channel:
		return s.bell.rang(ctx, n.Payload, now)
	default:
		queue := queueOf(s.w.listen.Payload, n.Payload)
		s.w.sink.Signal(queue)
		echoes.after(queue, now)
	}
	return nil
}

// quiet returns when the silence has lasted too long.
func (s *session) quiet() time.Time {
	if !s.asked.IsZero() {
		return s.asked.Add(s.w.timing.canary)
	}
	return s.heard.Add(s.w.timing.silence)
}

// until returns when there is something to do if nothing is heard.
func (s *session) until() time.Time {
	end := s.quiet()
	if s.w.engine.cfg.SQL.Bell != nil && s.checkAt.Before(end) {
		end = s.checkAt
	}
	if s.bell != nil {
		end = s.bell.until(end)
	}
	return end
}

// doubt sends the canary when the silence has lasted too long, and gives up when that went unheard.
func (s *session) doubt(ctx context.Context, now time.Time) error {
	switch {
	case now.Before(s.quiet()):
		return nil
	case !s.asked.IsZero():
		return unable{silent}
	}
	s.asked = now
	_, err := s.w.command(ctx, s.conn.PgConn(), "NOTIFY "+quote(s.canary))
	return err
}

// work does what is due.
func (s *session) work(ctx context.Context, now time.Time) error {
	if s.bell != nil {
		if err := s.bell.work(ctx, now); err != nil {
			return err
		}
	}
	if s.w.engine.cfg.SQL.Bell == nil || now.Before(s.checkAt) {
		return nil
	}
	return s.check(ctx, now)
}

// errBellChanged ends a session for one that knows better.
var errBellChanged = driver.Errorf(driver.Unavailable, "the bell was installed, changed or taken away; connecting anew")

// check looks for the bell again, and whether the session still is what it was armed on.
func (s *session) check(ctx context.Context, now time.Time) error {
	s.checkAt = now.Add(s.w.timing.check)
	if s.bell != nil {
		if err := s.bell.check(ctx); err != nil {
			return err
		}
	}
	state, err := s.w.findBell(ctx, s.conn)
	if err == nil && state != s.state {
		err = errBellChanged
	}
	return err
}

var errQuiet = errors.New("no notification until then")

// next waits for one notification, until a time (errQuiet) or the end of ctx.
func (w *watcher) next(ctx context.Context, conn *pgx.Conn, until time.Time) (*pgconn.Notification, error) {
	waiting, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	n, err := conn.WaitForNotification(waiting)
	switch {
	case n != nil:
		return n, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case waiting.Err() != nil && !conn.IsClosed():
		return nil, errQuiet
	}
	return nil, err
}
