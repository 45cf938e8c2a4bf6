//go:build libraries

package delayedjob_test

import (
	"maps"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/delayedjob"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// A library writes with Delayed Job itself, to the table of its own migration.
type library struct {
	db   *sqltest.DB
	ruby *storagetest.Producer
}

func newLibrary(db *sqltest.DB) library {
	tb := db.TB()
	tb.Helper()
	config := map[string]any{"url": db.URL()}
	if db.IsSQLite() {
		dsn, err := url.Parse(db.URL())
		if err != nil {
			tb.Fatal(err)
		}
		config = map[string]any{"adapter": "sqlite3", "database": dsn.Path, "timeout": 5000}
	}
	l := library{db, storagetest.Script(tb, "ruby", "delayed_job.rb")}
	l.call("open", map[string]any{"config": config})
	tb.Cleanup(func() { l.call("close", nil) })
	return l
}

func (l library) call(command string, args map[string]any) {
	l.db.TB().Helper()
	storagetest.Call[any](l.db.TB(), l.ruby, command, args)
}

// jobs calls a command that adds n jobs and returns their ids.
func (l library) jobs(command, queue string, n int, other map[string]any) []int64 {
	l.db.TB().Helper()
	args := map[string]any{"queue": queue, "n": n}
	maps.Copy(args, other)
	return storagetest.Call[[]int64](l.db.TB(), l.ruby, command, args)
}

// ready is what Delayed Job itself says.
func (l library) ready(queue string) int64 {
	l.db.TB().Helper()
	return storagetest.Call[int64](l.db.TB(), l.ruby, "ready", map[string]any{"queue": queue})
}

func (l library) Insert(queue string, n int) { l.jobs("enqueue", queue, n, nil) }

func (l library) Schedule(queue string, n int, in time.Duration) {
	l.jobs("enqueue", queue, n, map[string]any{"after": in.Seconds()})
}

func (l library) Pause(string) { l.db.TB().Fatal("Delayed Job cannot pause") }

func (l library) Run(queue string, n int) { l.jobs("work", queue, n, map[string]any{"hold": true}) }

func (l library) Orphan(queue string, n int, age time.Duration) {
	ids := l.jobs("work", queue, n, map[string]any{"hold": true})
	l.call("age", map[string]any{"ids": ids, "by": age.Seconds()})
}

func (l library) Fail(queue string, n int, in time.Duration) {
	l.jobs("work", queue, n, map[string]any{"fails": true, "again": in.Seconds()})
}

func (l library) Snooze(queue string, n int, in time.Duration) { l.Fail(queue, n, in) }

func (l library) Cancel(queue string, n int) {
	l.call("destroy", map[string]any{"ids": l.jobs("enqueue", queue, n, nil)})
}

func (l library) Finish(queue string, n int) { l.jobs("work", queue, n, nil) }

// bury adds n jobs that fail for good.
func (l library) bury(queue string, n int) {
	l.jobs("work", queue, n, map[string]any{"fails": true, "tries": 1})
}

func TestDelayedJobItselfOnPostgresKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.PostgresHarness(*delayedjob.Preset.Postgres, newLibrary, abilities))
}

func TestDelayedJobItselfOnSQLiteKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.SQLiteHarness(*delayedjob.Preset.SQLite, newLibrary, abilities))
}

func TestReadyIsWhatDelayedJobWouldHandOut(t *testing.T) {
	compare := func(t *testing.T, l library, engine driver.Reader) {
		t.Helper()
		l.Finish("mail", 2)
		l.bury("mail", 3)
		l.Fail("mail", 2, -time.Minute)
		l.Orphan("mail", 4, 5*time.Hour)
		l.Run("calm", 3)
		l.Schedule("mail", 1, time.Hour)
		l.Insert("mail", 5)
		for _, queue := range []string{"mail", "calm"} {
			if got, want := sqltest.ReadQueue(t, engine, queue).Ready, l.ready(queue); got != want {
				t.Errorf("%s: ready = %d, and Delayed Job says %d", queue, got, want)
			}
		}
		want := driver.Queue{Name: "mail", Known: true, Ready: 11, Scheduled: 1}
		if diff := cmp.Diff(want, sqltest.ReadQueue(t, engine, "mail"), counts); diff != "" {
			t.Error(diff)
		}
	}
	t.Run("postgres", func(t *testing.T) {
		dsn := storagetest.Postgres(t)
		compare(t, newLibrary(sqltest.Postgres(t, dsn)), sqltest.OpenPostgres(t, *delayedjob.Preset.Postgres, dsn, ""))
	})
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.db")
		compare(t, newLibrary(sqltest.SQLite(t, path)), sqltest.OpenSQLite(t, *delayedjob.Preset.SQLite, path))
	})
}
