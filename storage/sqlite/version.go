package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	lib "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/leadsman/leadsman/storage/internal/layout"
)

// choose returns the query that fits the tables in db. It is asked each time the file is opened, and a failed read
// closes the file, so that a migration is noticed at the next read.
func (e *Engine) choose(ctx context.Context, db *sql.DB) (string, error) {
	if e.version == "" {
		return e.queries[0], nil
	}
	found, err := column(ctx, db, e.version)
	if err != nil {
		return "", notInstalled(err)
	}
	i, err := layout.Choose(e.cfg.SQL.Layouts, found)
	if err != nil {
		return "", err
	}
	return e.queries[i], nil
}

// fixed is choose where there is no choice.
func fixed(query string) func(context.Context, *sql.DB) (string, error) {
	return func(context.Context, *sql.DB) (string, error) { return query, nil }
}

// column returns the values of a query of one column.
func column(ctx context.Context, db *sql.DB, query string) ([]any, error) {
	result, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer result.Close()
	var values []any
	for result.Next() {
		var v any
		if err := result.Scan(&v); err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, result.Err()
}

// notInstalled says of an error of the version's query that the job library is missing, where that is what it means.
func notInstalled(err error) error {
	failed, ok := errors.AsType[*lib.Error](err)
	if ok && failed.Code()&0xff == sqlite3.SQLITE_ERROR && strings.Contains(failed.Error(), "no such table") {
		return layout.Absent(err)
	}
	return err
}
