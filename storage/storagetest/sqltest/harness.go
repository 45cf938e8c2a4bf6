package sqltest

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/sqlite"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// timeout of a read: for a loaded machine and the race detector.
const timeout = time.Minute

// PostgresHarness is a preset on PostgreSQL for storagetest.Run. newFixture makes the library's tables in an empty
// database and returns what writes to them.
func PostgresHarness[F storagetest.Fixture](
	preset driver.SQL, newFixture func(*DB) F, abilities storagetest.Abilities,
) storagetest.Harness {
	return storagetest.Harness{
		Open: func(t *testing.T) (driver.Reader, storagetest.Fixture) {
			url := storagetest.Postgres(t)
			return newPostgres(t, preset, url, ""), newFixture(Postgres(t, url))
		},
		OpenBare:  func(t *testing.T) driver.Reader { return newPostgres(t, preset, storagetest.Postgres(t), "") },
		Abilities: abilities,
	}
}

// SQLiteHarness is a preset on SQLite for storagetest.Run.
func SQLiteHarness[F storagetest.Fixture](
	preset driver.SQL, newFixture func(*DB) F, abilities storagetest.Abilities,
) storagetest.Harness {
	abilities.Push = driver.ModeFile
	return storagetest.Harness{
		Open: func(t *testing.T) (driver.Reader, storagetest.Fixture) {
			path := filepath.Join(t.TempDir(), "jobs.db")
			return newSQLite(t, preset, path), newFixture(SQLite(t, path))
		},
		OpenBare: func(t *testing.T) driver.Reader {
			path := filepath.Join(t.TempDir(), "bare.db")
			SQLite(t, path).Exec("CREATE TABLE other (id integer)")
			return newSQLite(t, preset, path)
		},
		Abilities: abilities,
	}
}

// OpenPostgres is an engine that is closed when the test ends.
func OpenPostgres(t *testing.T, preset driver.SQL, url, schema string) *postgres.Engine {
	t.Helper()
	engine := newPostgres(t, preset, url, schema)
	closeAtEnd(t, engine)
	return engine
}

// OpenSQLite is an engine that is closed when the test ends.
func OpenSQLite(t *testing.T, preset driver.SQL, path string) *sqlite.Engine {
	t.Helper()
	engine := newSQLite(t, preset, path)
	closeAtEnd(t, engine)
	return engine
}

func newPostgres(t *testing.T, preset driver.SQL, url, schema string) *postgres.Engine {
	t.Helper()
	engine, err := postgres.Open(postgres.Config{
		URL: func() (string, error) { return url, nil }, Schema: schema, SQL: preset, Timeout: timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func newSQLite(t *testing.T, preset driver.SQL, path string) *sqlite.Engine {
	t.Helper()
	engine, err := sqlite.Open(sqlite.Config{Path: path, SQL: preset, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func closeAtEnd(t *testing.T, engine driver.Reader) {
	t.Helper()
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Read reads queues, each count up to limit, in the order of the wants.
func Read(t *testing.T, engine driver.Reader, limit int64, wants ...driver.Want) []driver.Queue {
	t.Helper()
	reading, err := engine.Read(t.Context(), driver.Request{Wants: wants, Limit: limit})
	if err != nil {
		t.Fatalf("Read(%v): %v", wants, err)
	}
	return reading.Queues
}

// ReadQueue reads one queue, exactly.
func ReadQueue(t *testing.T, engine driver.Reader, name string) driver.Queue {
	t.Helper()
	return Read(t, engine, 0, driver.Want{Queue: name})[0]
}

// Near fails the test unless got is around want, give or take a minute: for ages of minutes and hours, on a machine that
// may be slow between the write and the read. An error of a time zone is an hour at least, or a quarter of one.
func Near(t *testing.T, what string, got, want time.Duration) {
	t.Helper()
	if got < want-time.Minute || got > want+time.Minute {
		t.Errorf("%s = %s, want about %s", what, got, want)
	}
}
