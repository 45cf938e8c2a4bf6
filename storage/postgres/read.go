package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leadsman/leadsman/storage/driver"
)

// errDemoted is a server that was the primary and is none any more.
var errDemoted = errors.New("the server is a standby now and was the primary before")

// Read answers req in one round trip. A read that fails because of what became of its connection, rather than
// because of the database, is tried once more on another.
func (e *Engine) Read(ctx context.Context, req driver.Request) (driver.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*e.cfg.Timeout)
	defer cancel()
	a := e.try(ctx, req)
	if a.again && ctx.Err() == nil {
		a = e.try(ctx, req)
	}
	if a.err != nil {
		return driver.Reading{}, e.classify(ctx, a)
	}
	a.reading.Notes = append(a.reading.Notes, e.cfg.SQL.Notes...)
	return a.reading, nil
}

// An attempt is one try of a read.
type attempt struct {
	reading driver.Reading
	err     error
	user    string // for the GRANT to suggest
	busy    bool   // no connection was free
	again   bool   // another connection may do better
}

func (e *Engine) try(ctx context.Context, req driver.Request) attempt {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		stat := e.pool.Stat()
		return attempt{err: err, busy: stat.AcquiredConns() >= stat.MaxConns()}
	}
	defer conn.Release()
	state := stateOf(conn.Conn())
	a := attempt{user: state.user}
	r := request{
		settings: e.settings, query: e.query, want: req, unnamed: e.unnamed.Load(),
		args: e.query.args(req, e.cfg.RunningMaxAge.Seconds()),
	}
	used := state.used
	state.used = true
	a.reading, a.err = roundTrip(ctx, conn.Conn(), r, func(h head) error { return e.admit(h, state.location) })
	if a.err != nil {
		a.again = e.recover(ctx, conn, a.err, r.unnamed, used)
	}
	return a
}

// admit refuses a server that has lost its primary role: what it holds may stand still for ever. A server that
// was a standby from the start is taken; somebody chose it.
func (e *Engine) admit(h head, location string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case !h.standby:
		e.primary = location
	case e.primary == location:
		return errDemoted
	}
	return nil
}

// recover gives up the connection where it may be at fault and says whether another is worth a try.
func (e *Engine) recover(ctx context.Context, conn *pgxpool.Conn, err error, unnamed, used bool) bool {
	destroy := func() { _ = conn.Conn().PgConn().Close(ctx) } // Release drops a closed connection
	var pg *pgconn.PgError
	switch {
	case ctx.Err() != nil:
		// The cancel request that went out may arrive late and hit the connection's next user.
		destroy()
		return false
	case errors.Is(err, errDemoted):
		e.pool.Reset() // its fellows lead there too
		return true
	case errors.As(err, &pg):
		return e.recoverFrom(pg, destroy, unnamed, used)
	case used && conn.Conn().IsClosed():
		e.pool.Reset() // it died while it was idle, and its fellows with it
		return true
	}
	return false
}

func (e *Engine) recoverFrom(pg *pgconn.PgError, destroy func(), unnamed, used bool) bool {
	switch pg.Code {
	case "26000", "42P05": // invalid_sql_statement_name, duplicate_prepared_statement
		destroy()
		if !unnamed && !e.unnamed.Swap(true) {
			e.cfg.Logger.Warn("prepared statements do not survive on this connection, as behind a transaction pooler; "+
				"going on without them", "sqlstate", pg.Code)
		}
		return !unnamed
	case "0A000": // "cached plan must not change result type", after DDL
		e.pool.Reset()
		return !unnamed && used
	case "57P01", "57P02", "57P03": // shut down, crashed, starting
		e.pool.Reset()
		return used
	}
	return false
}
