package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// count is a driver.Sink that counts signals.
type count int

func (c *count) Signal(string)            { *c++ }
func (c *count) Push(driver.Mode, string) {}

// startBell arms a bell that nothing rings, on a database without tables.
func startBell(t *testing.T) (*bell, *count) {
	t.Helper()
	dsn := storagetest.Postgres(t)
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) }) // nothing is lost with it
	engine, err := Open(Config{URL: func() (string, error) { return dsn, nil }, SQL: driver.SQL{Query: "SELECT", Static: true}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() }) // it has no connections
	sink := new(count)
	b := (&watcher{engine: engine, sink: sink, timing: defaultTiming}).newBell(conn, keysOf("test", "public"))
	if err := b.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b, sink
}

func TestBellChecksThatItIsArmed(t *testing.T) {
	b, sink := startBell(t)
	before := *sink
	if err := b.check(t.Context()); err != nil || *sink == before {
		t.Fatalf("check: %v, %d signals; want one, for what nobody has thought of", err, *sink-before)
	}
	b.pid = "1"
	if err := b.check(t.Context()); !errors.Is(err, errPooled) {
		t.Errorf("on the connection of another process: %v", err)
	}
	if _, err := b.command(t.Context(), "SELECT pg_advisory_unlock_all()"); err != nil {
		t.Fatal(err)
	}
	if err := b.rang(t.Context(), "3", time.Now()); !errors.Is(err, errUnarmed) {
		t.Errorf("letting go of what is not held: %v", err)
	}
	rows, err := b.command(t.Context(), "SELECT pg_backend_pid()")
	if err != nil {
		t.Fatal(err)
	}
	b.pid = string(rows[0][0])
	if err := b.check(t.Context()); !errors.Is(err, errUnarmed) {
		t.Errorf("without its locks: %v", err)
	}
}

// A reader that hangs must not keep the bell ringing for ever, nor one that waits for a lock.
func TestBellBoundsItsSessionOnTheServer(t *testing.T) {
	b, _ := startBell(t)
	for name, want := range map[string]string{
		"idle_session_timeout": "45s", "lock_timeout": "500ms", "tcp_user_timeout": "10000", "tcp_keepalives_idle": "10",
		"default_transaction_isolation": "read committed",
	} {
		rows, err := b.command(t.Context(), fmt.Sprintf("SELECT current_setting('%s')", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(rows[0][0]); got != want {
			t.Errorf("%s = %s, want %s", name, got, want)
		}
	}
	b.stop()
	rows, err := b.command(t.Context(), "SELECT current_setting('idle_session_timeout'), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())")
	if err != nil {
		t.Fatal(err)
	}
	if string(rows[0][0]) != "0" || string(rows[0][1]) != "0" {
		t.Errorf("left behind: idle_session_timeout = %s, %s locks", rows[0][0], rows[0][1])
	}
}

func TestBellIsNotArmedWhereSomebodyHoldsItsLocks(t *testing.T) {
	b, _ := startBell(t)
	if err := b.unlock(t.Context(), b.armed); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(t.Context(), b.conn.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }() // nothing is lost with it
	if _, err := conn.Exec(t.Context(), "SELECT pg_advisory_lock($1, 64)", int32(b.keys.class)); err != nil {
		t.Fatal(err)
	}
	if err := b.tick(t.Context(), time.Now()); err == nil {
		t.Error("it believes that it is armed")
	}
}

func TestWantedQueuesAreForgottenWhenNobodyReadsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w wanted
		expect := func(names []string, all bool) {
			t.Helper()
			got, gotAll := w.list(time.Now())
			slices.Sort(got)
			if !slices.Equal(got, names) || gotAll != all {
				t.Errorf("got %q, all = %t; want %q, %t", got, gotAll, names, all)
			}
		}
		note := func(names ...string) {
			for _, name := range names {
				w.note([]driver.Want{{Queue: name}}, time.Now())
			}
		}
		expect(nil, true) // nobody knows
		note("mail", "no\x00name")
		expect([]string{"mail"}, false)
		time.Sleep(wantedFor / 2)
		note("", "print")
		expect([]string{"mail", "print"}, true)
		time.Sleep(wantedFor/2 + time.Second)
		expect([]string{"print"}, true)
		time.Sleep(wantedFor / 2)
		note("print")
		expect([]string{"print"}, false)
		for i := range 2 * maxWanted {
			note(fmt.Sprint("queue-", i))
		}
		if names, all := w.list(time.Now()); len(names) != maxWanted || !all {
			t.Errorf("%d names, all = %t; want %d and all", len(names), all, maxWanted)
		}
	})
}
