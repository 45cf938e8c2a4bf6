package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/rows"
)

// errDemoted is a server that was the primary and is none any more.
var errDemoted = errors.New("the server is a standby now and was the primary before")

// Read answers req in one round trip, or in two on a connection that does not know the version of the tables yet. A read
// that fails because of what became of its connection, rather than because of the database, is tried once more on
// another.
func (e *Engine) Read(ctx context.Context, req driver.Request) (driver.Reading, error) {
	if e.cfg.SQL.Bell != nil {
		e.wanted.note(req.Wants, time.Now()) // before the read: what it misses is to ring
	}
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
	before := history{used: state.used, versioned: state.query != nil, unnamed: e.unnamed.Load()}
	state.used = true
	a := attempt{user: state.user}
	a.reading, a.err = e.readOn(ctx, conn.Conn(), req, before.unnamed)
	if a.err != nil {
		a.again = e.recover(ctx, conn, a.err, before)
	}
	return a
}

// A history is what was known before a read of the connection that it went to.
type history struct {
	used      bool // it had carried a read
	versioned bool // the version of the tables had been read on it
	unnamed   bool // the read prepared nothing
}

// readOn reads on one connection.
func (e *Engine) readOn(ctx context.Context, conn *pgx.Conn, want driver.Request, unnamed bool) (driver.Reading, error) {
	q, err := e.queryFor(ctx, conn, unnamed)
	if err != nil {
		return driver.Reading{}, err
	}
	q = q.fit(want)
	var reading driver.Reading
	r := request{settings: e.settings, query: *q, args: q.args(want, e.cfg.RunningMaxAge.Seconds()), unnamed: unnamed}
	h, err := e.roundTrip(ctx, conn, r, func(h head, result *pgconn.ResultReader) error {
		var err error
		reading.Queues, err = readQueues(result, conn.TypeMap(), rows.Options{Request: want, Static: q.static, Now: h.now})
		return err
	})
	if err != nil {
		return driver.Reading{}, err
	}
	reading.Now = h.now
	if h.standby {
		reading.Notes = append(reading.Notes, "read from a standby server, which may lag behind its primary")
	}
	return reading, nil
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
func (e *Engine) recover(ctx context.Context, conn *pgxpool.Conn, err error, before history) bool {
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
		return e.recoverFrom(pg, conn.Conn(), destroy, before)
	case before.used && conn.Conn().IsClosed():
		e.pool.Reset() // it died while it was idle, and its fellows with it
		return true
	}
	return false
}

func (e *Engine) recoverFrom(pg *pgconn.PgError, conn *pgx.Conn, destroy func(), before history) bool {
	switch pg.Code {
	case "26000", "42P05": // invalid_sql_statement_name, duplicate_prepared_statement
		destroy()
		if !before.unnamed && !e.unnamed.Swap(true) {
			e.cfg.Logger.Warn("prepared statements do not survive on this connection, as behind a transaction pooler; "+
				"going on without them", "sqlstate", pg.Code)
		}
		return !before.unnamed
	case "0A000": // "cached plan must not change result type", after DDL
		e.pool.Reset()
		return !before.unnamed && before.used
	case "57P01", "57P02", "57P03": // shut down, crashed, starting
		e.pool.Reset()
		return before.used
	}
	return e.forgetVersion(pg, conn, before)
}
