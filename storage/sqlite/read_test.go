package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/sqlite"
)

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestReadNeverCreatesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent.db")
	engine := openEngine(t, path)
	watch(t, engine)
	wantError(t, engine, driver.Unavailable, path, "does not exist", "start that program once")
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if exists(path + suffix) {
			t.Errorf("%s%s was created", path, suffix)
		}
	}
}

func TestReadRefusesWhatIsNoDatabase(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	wantError(t, openEngine(t, dir), driver.Unavailable, dir, "is a directory")
	wantError(t, openEngine(t, write("text.db", "this is a text of some length, and no database at all")),
		driver.Schema, "text.db", "not a SQLite database")
	wantError(t, openEngine(t, write("empty.db", "")), driver.Schema, "empty.db", "no such table: jobs", "migrations")
}

func TestReadNamesWhatIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	newWAL(t, path)
	with := func(query string) *sqlite.Engine {
		return openEngine(t, path, func(cfg *sqlite.Config) { cfg.SQL.Query = query })
	}
	wantError(t, with(`SELECT 'jobs' AS queue, sum(bytes) AS ready FROM jobs`), driver.Schema, "no such column: bytes")
	// SQLite alone would take a misspelt name in double quotes for a text, and this for a count of zero.
	wantError(t, with(`SELECT 'jobs' AS queue, count(*) AS ready FROM jobs WHERE "stat" = 'ready'`),
		driver.Schema, "no such column", "stat")
	wantError(t, with(`SELEC 1`), driver.Contract, "syntax error")
	wantError(t, with(`SELECT 'jobs' AS queue, x'00' AS ready`), driver.Contract, `"ready"`, "blob of 1 bytes")
	wantError(t, with(`DELETE FROM jobs RETURNING 'jobs' AS queue, 1 AS ready`), driver.Unavailable)
}

// Whoever waits for a job of named queues is answered by the smaller query, and nobody else.
func TestReadUsesTheActivityQueryWhereItIsEnough(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	newWAL(t, path)
	const query = `SELECT coalesce(value ->> 'queue', 'all') AS queue, coalesce(value ->> 'lookahead', 0.0) AS lookahead, %d AS ready
		FROM json_each(@wants) WHERE @limit >= 0 AND @running_max_age >= 0`
	engine := openEngine(t, path, func(cfg *sqlite.Config) {
		cfg.SQL = driver.SQL{Query: fmt.Sprintf(query, 1), Activity: fmt.Sprintf(query, 2)}
	})
	named, all := driver.Want{Queue: "jobs"}, driver.Want{}
	for range 2 {
		for _, tt := range []struct {
			req  driver.Request
			want int64
		}{
			{driver.Request{Wants: []driver.Want{named}, Activity: true}, 2},
			{driver.Request{Wants: []driver.Want{named}}, 1},
			{driver.Request{Wants: []driver.Want{named, all}, Activity: true}, 1},
		} {
			reading, err := engine.Read(t.Context(), tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if got := reading.Queues[0].Ready; got != tt.want {
				t.Errorf("%+v was answered by query %d, want %d", tt.req, got, tt.want)
			}
		}
	}
}

func TestReadLeavesSchemaOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	newWAL(t, path).insert(3)
	engine := openEngine(t, path, func(cfg *sqlite.Config) {
		cfg.SQL.Query = "SELECT 'jobs' AS queue, count(*) AS ready FROM {schema}jobs;\n"
	})
	if got := ready(t, engine); got != 3 {
		t.Errorf("ready = %d, want 3", got)
	}
}

// Case 64.
func TestReadWaitsForABusyWriterAndThenFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	writer := newRollback(t, path, "DELETE")
	writer.insert(1)
	engine := openEngine(t, path, func(cfg *sqlite.Config) { cfg.BusyTimeout = 200 * time.Millisecond })
	writer.exec(`BEGIN EXCLUSIVE`)

	start := time.Now()
	wantError(t, engine, driver.Timeout, path, "locked by a writer", "200ms")
	if waited := time.Since(start); waited < 150*time.Millisecond {
		t.Errorf("failed after %s, without waiting for the busy timeout", waited)
	}

	// A writer that ends in time is waited for.
	patient := openEngine(t, path, func(cfg *sqlite.Config) {
		cfg.BusyTimeout, cfg.Timeout = patience/2, patience
	})
	got := make(chan error, 1)
	go func() {
		_, err := read(context.Background(), patient)
		got <- err
	}()
	select {
	case err := <-got:
		t.Errorf("read ended before the lock did: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	writer.exec(`COMMIT`)
	if err := <-got; err != nil {
		t.Errorf("read after the lock ended: %v", err)
	}
}

// The rows of a transaction that was cut off must not be counted, and only a writer can take them out again.
func TestReadExplainsAJournalOfAWriterThatDied(t *testing.T) {
	dir := t.TempDir()
	writer := newRollback(t, filepath.Join(dir, "jobs.db"), "DELETE")
	writer.insert(1)
	writer.exec(`PRAGMA cache_size = 1`) // so that pages are written before the commit
	writer.exec(`BEGIN`)
	writer.exec(`INSERT INTO jobs (note) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
		SELECT hex(randomblob(100)) FROM n`)
	died := filepath.Join(dir, "died.db")
	copyFile(t, writer.path, died)
	copyFile(t, writer.path+"-journal", died+"-journal")
	wantError(t, openEngine(t, died), driver.Unavailable, "a writer died in a transaction", "start the program that enqueues")

	newRollback(t, died, "DELETE").insert(1)
	if got := ready(t, openEngine(t, died)); got != 2 {
		t.Errorf("ready = %d after a writer came back, want 2", got)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	newWAL(t, path)
	endless := `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'jobs' AS queue, count(*) AS ready FROM n`
	engine := openEngine(t, path, func(cfg *sqlite.Config) { cfg.SQL.Query, cfg.Timeout = endless, 10*time.Minute })
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := read(ctx, engine); !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v, want %v", err, context.Canceled)
	}
	short := openEngine(t, path, func(cfg *sqlite.Config) { cfg.SQL.Query, cfg.Timeout = endless, 100*time.Millisecond })
	wantError(t, short, driver.Timeout, "no answer in time", "100ms")
}

func TestReadEndsWithItsContextWhileAWriterIsBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	writer := newRollback(t, path, "DELETE")
	writer.exec(`BEGIN EXCLUSIVE`)
	engine := openEngine(t, path, func(cfg *sqlite.Config) { cfg.Timeout, cfg.BusyTimeout = time.Hour, 30*time.Minute })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var known *driver.Error
	if _, err := read(ctx, engine); !errors.As(err, &known) || known.Kind != driver.Timeout {
		t.Errorf("Read = %v, want a timeout", err)
	}
}

func TestReadAfterCloseFails(t *testing.T) {
	engine := openEngine(t, filepath.Join(t.TempDir(), "jobs.db"))
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, engine, driver.Unavailable, "closed")
}

func TestReadClosesTheFileWhenIdle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	writer := newWAL(t, path)
	writer.insert(1)
	writer.close()
	engine := openEngine(t, path)
	ready(t, engine)
	awaitClosed(t, path)
	if got := ready(t, engine); got != 1 {
		t.Errorf("ready = %d after reopening, want 1", got)
	}
}

func TestReadSeesAFileThatReplacedTheOneItHasOpen(t *testing.T) {
	dir := t.TempDir()
	path, next := filepath.Join(dir, "jobs.db"), filepath.Join(dir, "next.db")
	old := newRollback(t, path, "DELETE")
	old.insert(1)
	old.close()
	replacement := newRollback(t, next, "DELETE")
	replacement.insert(5)
	replacement.close()
	engine := openEngine(t, path)
	if got := ready(t, engine); got != 1 { // and the file is open now, for a while
		t.Errorf("ready = %d, want 1", got)
	}
	rename(t, next, path)
	if got := ready(t, engine); got != 5 {
		t.Errorf("ready = %d, want the 5 of the new file", got)
	}
}

func TestReadDoesNotKeepAWriterFromItsCheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	writer := newWAL(t, path)
	writer.insert(1)
	engine := openEngine(t, path)
	ready(t, engine)
	var busy, log, moved int
	if err := writer.db.QueryRow(`PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &log, &moved); err != nil || busy != 0 {
		t.Errorf("checkpoint right after a read: busy = %d, %v; an open read transaction is in its way", busy, err)
	}
}
