//go:build libraries

package laravel_test

import (
	"math"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/laravel"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// A library writes with Laravel's queue itself, to the table of its own migration.
type library struct {
	db  *sqltest.DB
	php *storagetest.Producer
}

func newLibrary(db *sqltest.DB) library {
	tb := db.TB()
	tb.Helper()
	dsn, err := url.Parse(db.URL())
	if err != nil {
		tb.Fatal(err)
	}
	config := map[string]any{
		"driver": "pgsql", "host": dsn.Hostname(), "port": dsn.Port(), "database": strings.TrimPrefix(dsn.Path, "/"),
		"username": dsn.User.Username(), "password": "", "charset": "utf8", "schema": "public", "sslmode": "disable",
	}
	if db.IsSQLite() {
		db.Exec("SELECT 1") // Laravel opens a file that is there
		config = map[string]any{"driver": "sqlite", "database": dsn.Path}
	}
	l := library{db, storagetest.Script(tb, "php", "laravel.php")}
	call[any](l, "open", map[string]any{"config": config, "retryAfter": 90})
	tb.Cleanup(func() { call[any](l, "close", nil) })
	return l
}

func call[T any](l library, command string, args map[string]any) T {
	l.db.TB().Helper()
	return storagetest.Call[T](l.db.TB(), l.php, command, args)
}

// seconds are whole ones, as Laravel takes them, and so that nothing is due early.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }

func (l library) Insert(queue string, n int) { l.Schedule(queue, n, 0) }

func (l library) Schedule(queue string, n int, in time.Duration) {
	call[any](l, "push", map[string]any{"queue": queue, "n": n, "after": seconds(in)})
}

func (l library) Pause(string) { l.db.TB().Fatal("no pause of Laravel's is in the database") }

func (l library) Run(queue string, n int) { l.take(queue, n) }

func (l library) take(queue string, n int) []int64 {
	return call[[]int64](l, "take", map[string]any{"queue": queue, "n": n})
}

func (l library) Orphan(queue string, n int, age time.Duration) {
	call[any](l, "age", map[string]any{"ids": l.take(queue, n), "by": seconds(age)})
}

func (l library) Fail(queue string, n int, in time.Duration) {
	call[any](l, "release", map[string]any{"queue": queue, "n": n, "after": seconds(in)})
}

func (l library) Snooze(queue string, n int, in time.Duration) { l.Fail(queue, n, in) }

func (l library) Cancel(queue string, n int) { l.Finish(queue, n) }

func (l library) Finish(queue string, n int) {
	call[any](l, "finish", map[string]any{"queue": queue, "n": n})
}

func TestLaravelItselfOnPostgresKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.PostgresHarness(*laravel.Preset.Postgres, newLibrary, abilities))
}

func TestLaravelItselfOnSQLiteKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.SQLiteHarness(*laravel.Preset.SQLite, newLibrary, abilities))
}

func TestReadyIsWhatLaravelHandsOut(t *testing.T) {
	compare := func(t *testing.T, l library, engine driver.Reader) {
		t.Helper()
		l.Finish("mail", 2)
		l.Fail("mail", 2, -time.Minute)
		l.Orphan("mail", 4, 5*time.Minute)
		l.Fail("mail", 1, time.Hour)
		l.Insert("mail", 5)
		got := sqltest.ReadQueue(t, engine, "mail")
		if size := call[int64](l, "size", map[string]any{"queue": "mail"}); size != got.Ready+got.Running+got.Scheduled {
			t.Errorf("ready, running and scheduled = %d, %d, %d, and Laravel says %d for all", got.Ready, got.Running, got.Scheduled, size)
		}
		if out := call[int64](l, "drain", map[string]any{"queue": "mail"}); got.Ready != out || got.Ready != 11 {
			t.Errorf("ready = %d, and Laravel handed out %d, want 11", got.Ready, out)
		}
		if got := sqltest.ReadQueue(t, engine, "mail"); got.Ready != 0 || got.Running != 11 || got.Scheduled != 1 {
			t.Errorf("with all handed out: %+v", got)
		}
	}
	t.Run("postgres", func(t *testing.T) {
		dsn := storagetest.Postgres(t)
		compare(t, newLibrary(sqltest.Postgres(t, dsn)), sqltest.OpenPostgres(t, *laravel.Preset.Postgres, dsn, ""))
	})
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.db")
		compare(t, newLibrary(sqltest.SQLite(t, path)), sqltest.OpenSQLite(t, *laravel.Preset.SQLite, path))
	})
}
