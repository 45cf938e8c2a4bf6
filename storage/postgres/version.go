package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/layout"
)

// queryFor returns the query that fits the tables as this connection found them. The version is read once per
// connection, which lives for minutes, and again after a read failed as it does when a migration has come between.
func (e *Engine) queryFor(ctx context.Context, conn *pgx.Conn, unnamed bool) (*query, error) {
	if e.version.text == "" {
		return &e.queries[0], nil
	}
	state := stateOf(conn)
	if state.query != nil {
		return state.query, nil
	}
	found, err := e.readVersion(ctx, conn, unnamed)
	if err != nil {
		return nil, err
	}
	i, err := layout.Choose(e.cfg.SQL.Layouts, found)
	if err != nil {
		return nil, err
	}
	state.query = &e.queries[i]
	return state.query, nil
}

// readVersion returns what the version's query finds: the first column of its rows.
func (e *Engine) readVersion(ctx context.Context, conn *pgx.Conn, unnamed bool) (found []any, err error) {
	_, err = e.roundTrip(ctx, conn, request{settings: e.settings, query: e.version, unnamed: unnamed},
		func(_ head, result *pgconn.ResultReader) error {
			var err error
			found, err = readColumn(result, conn.TypeMap())
			return err
		})
	if err != nil {
		return nil, notInstalled(err)
	}
	return found, nil
}

// notInstalled says of an error of the version's query that the job library is missing, where that is what it means.
func notInstalled(err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	switch pg.Code {
	case "42P01", "42704", "3F000": // no such table, no such type (a table is one too), no such schema
		return layout.Absent(pg)
	}
	return err
}

// forgetVersion drops what the connections know of the tables' version after a read that failed on the tables' shape.
// It says whether another read may do better: where the version was known from before, a migration may have come
// between.
func (e *Engine) forgetVersion(pg *pgconn.PgError, conn *pgx.Conn, before history) bool {
	state := stateOf(conn)
	if kind, _ := e.explain(pg, state.user); kind != driver.Schema || e.version.text == "" {
		return false
	}
	state.query = nil
	if before.versioned {
		e.pool.Reset() // its fellows know no better
	}
	return before.versioned
}

// readColumn reads the first column of all rows.
func readColumn(r *pgconn.ResultReader, m *pgtype.Map) ([]any, error) {
	var values []any
	var err error
	for r.NextRow() && err == nil {
		var v any
		v, err = decode(m, r.FieldDescriptions()[0], r.Values()[0])
		values = append(values, v)
	}
	if _, cerr := r.Close(); cerr != nil {
		return nil, cerr
	}
	return values, err
}
