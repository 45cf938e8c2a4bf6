package graphileworker_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/preset/graphileworker"
	"github.com/leadsman/leadsman/storage/storagetest"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

func TestQueryIsTheReviewedText(t *testing.T) {
	e := engine(t, "host=127.0.0.1", "")
	storagetest.Golden(t, filepath.Join("testdata", "postgres.golden.sql"), e.Query(), *update)
}

func open(t *testing.T, dsn, schema string) *postgres.Engine {
	t.Helper()
	e, err := postgres.Open(postgres.Config{
		URL: func() (string, error) { return dsn, nil }, Schema: schema, SQL: *graphileworker.Preset.Postgres,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// engine is open, closed when the test ends.
func engine(t *testing.T, dsn, schema string) *postgres.Engine {
	t.Helper()
	e := open(t, dsn, schema)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func connect(t *testing.T, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestAnUnknownVersionIsAnErrorThatNamesIt(t *testing.T) {
	for version, want := range map[int]string{16: "update the job library", 21: "update leadsman"} {
		dsn := storagetest.Postgres(t)
		exec(t, connect(t, dsn), "CREATE SCHEMA graphile_worker")
		exec(t, connect(t, dsn), "CREATE TABLE graphile_worker.migrations AS SELECT generate_series(1, $1::int) AS id", version)
		_, err := engine(t, dsn, "").Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: "mail"}}})
		storagetest.ErrorSays(t, err, driver.Schema, want)
	}
}
