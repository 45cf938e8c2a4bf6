package sqltest

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql's driver "pgx"

	"github.com/leadsman/leadsman/storage/sqlite"
)

// A DB is a database that a test writes to, by one connection, so that settings of the session hold. Its methods fail
// the test on an error.
type DB struct {
	tb     testing.TB
	db     *sql.DB
	url    string
	sqlite bool
}

// Postgres connects to the database behind url.
func Postgres(tb testing.TB, url string) *DB {
	tb.Helper()
	return open(tb, "pgx", url)
}

// PostgresIn is Postgres with a fresh schema of that name as its search path; "" leaves the search path alone.
func PostgresIn(tb testing.TB, url, schema string) *DB {
	tb.Helper()
	d := Postgres(tb, url)
	if schema != "" {
		name := pgx.Identifier{schema}.Sanitize()
		d.Exec("CREATE SCHEMA " + name + "; SET search_path = " + name)
	}
	return d
}

// SQLite creates or opens a database file, in WAL mode.
func SQLite(tb testing.TB, path string) *DB {
	tb.Helper()
	d := open(tb, "sqlite", sqlite.WriterDSN(path))
	d.sqlite = true
	return d
}

func open(tb testing.TB, driver, dsn string) *DB {
	tb.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	db.SetMaxIdleConns(1)
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close the test's own connection: %v", err)
		}
	})
	return &DB{tb: tb, db: db, url: dsn}
}

// IsSQLite says which of the two it is, for the types that differ.
func (d *DB) IsSQLite() bool { return d.sqlite }

// URL is what it was opened by, for others to connect to the same database.
func (d *DB) URL() string { return d.url }

// TB is the test that it was opened for.
func (d *DB) TB() testing.TB { return d.tb }

// Exec runs statements. Arguments are $1, $2, … in both databases; several statements take none.
func (d *DB) Exec(statement string, args ...any) {
	d.tb.Helper()
	if d.sqlite {
		statement = strings.ReplaceAll(statement, "$", "?")
	}
	if _, err := d.db.ExecContext(d.tb.Context(), statement, args...); err != nil {
		d.tb.Fatalf("%s: %v", statement, err)
	}
}

// Row reads the one row of a query.
func (d *DB) Row(query string, into ...any) {
	d.tb.Helper()
	if err := d.db.QueryRowContext(d.tb.Context(), query).Scan(into...); err != nil {
		d.tb.Fatalf("%s: %v", query, err)
	}
}

// Expr is a value given as SQL instead, which may use i, the number of the row from 1 on.
type Expr string

// Insert adds n rows that are equal but for what their Exprs say.
func (d *DB) Insert(table string, n int, row map[string]any) {
	d.tb.Helper()
	if n == 0 {
		return
	}
	columns := slices.Sorted(maps.Keys(row))
	values, args := make([]string, len(columns)), []any{}
	for i, column := range columns {
		if expr, ok := row[column].(Expr); ok {
			values[i] = string(expr)
			continue
		}
		args = append(args, row[column])
		values[i] = fmt.Sprintf("$%d", len(args))
	}
	d.Exec(fmt.Sprintf("INSERT INTO %s (%s) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT %s FROM n",
		table, strings.Join(columns, ", "), n, strings.Join(values, ", ")), args...)
}
