package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

func TestBellThatIsNotInstalledIsSaidToBePrintable(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, jobsTable)
	s := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: belled()}))
	s.polls(t, "`leadsman trigger-sql test`")
	run(t, conn, bellSQL(t, belled()))
	s.armed(t) // without a restart
	drop, err := postgres.BellDropSQL(belled(), "")
	if err != nil {
		t.Fatal(err)
	}
	run(t, conn, drop)
	s.polls(t, "`leadsman trigger-sql test`")
	run(t, conn, drop) // twice does no harm
	for _, kind := range []string{"pg_trigger WHERE tgrelid = 'jobs'::regclass", "pg_proc WHERE proname LIKE 'leadsman%'"} {
		if n := number(t, conn, "SELECT count(*) FROM "+kind); n != 0 {
			t.Errorf("%d are left in %s", n, kind)
		}
	}
}

func TestBellThatCannotBeReliedOnIsPolled(t *testing.T) {
	dsn, conn := newBelled(t)
	s := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: belled()}))
	for _, tt := range []struct{ breaks, mends, why string }{
		{"ALTER TABLE jobs DISABLE TRIGGER leadsman_bell_insert", "ALTER TABLE jobs ENABLE ALWAYS TRIGGER leadsman_bell_insert", "ENABLE TRIGGER"},
		{"DROP TRIGGER leadsman_bell_update ON jobs", bellSQL(t, belled()), "missing on table"},
		{"COMMENT ON FUNCTION leadsman_bell_test IS NULL", bellSQL(t, belled()), "comment"},
		{"COMMENT ON FUNCTION leadsman_bell_test IS 'leadsman bell 2, class 1, channel x'", bellSQL(t, belled()), "version 2"},
	} {
		s.armed(t)
		run(t, conn, tt.breaks)
		s.polls(t, tt.why)
		if n := number(t, conn, bellLocks); n != 0 {
			t.Errorf("%s: %d locks are left", tt.breaks, n)
		}
		run(t, conn, tt.mends)
	}
	s.armed(t)
}

func TestBellAddsToWhatTheLibraryAnnounces(t *testing.T) {
	dsn, conn := newBelled(t)
	sql := listening(belled())
	engine := open(t, postgres.Config{URL: always(dsn), SQL: sql})
	ready(t, engine, "mail")
	s := watch(t, engine)
	s.armed(t)
	notify(t, conn, "print") // on the library's channel
	s.wait(t, "the library's signal", func(s seen) bool { return s.signals["print"] > 0 })
	before := s.now().signals["mail"]
	run(t, conn, insertMail)
	s.wait(t, "the bell's signal", func(s seen) bool { return s.signals["mail"] > before })
	run(t, conn, "ALTER TABLE jobs DISABLE TRIGGER ALL")
	s.wait(t, "listening, and why not to the bell", func(s seen) bool {
		return s.mode == driver.ModeListen && strings.Contains(s.why, "disabled")
	})
}

func TestBellIsArmedAnewAfterItsConnectionWasKilled(t *testing.T) {
	dsn, conn := newBelled(t)
	s := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: belled()}))
	s.armed(t)
	for i := range 3 {
		eventually(t, "the bell is armed", func() bool { return number(t, conn, bellLocks) == 64*8 })
		run(t, conn, `SELECT pg_terminate_backend(l.pid) FROM pg_locks l WHERE l.locktype = 'advisory' AND l.database =
			(SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1`)
		s.wait(t, fmt.Sprintf("kill %d is seen", i), func(s seen) bool { return len(s.modes) >= 2*i+3 && s.mode == driver.ModeBell })
	}
}

func TestBellEndsWithNothingLocked(t *testing.T) {
	dsn, conn := newBelled(t)
	engine := open(t, postgres.Config{URL: always(dsn), SQL: belled()})
	engine.Hurry()
	ctx, cancel := context.WithCancel(t.Context())
	s := &sink{state: seen{signals: map[string]int{}}}
	done := make(chan error, 1)
	go func() { done <- engine.Watch(ctx, s) }()
	s.armed(t)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	eventually(t, "nothing is locked", func() bool { return number(t, conn, bellLocks) == 0 })
}

// Case 51, with the bell: nothing may be locked on a connection that the pooler hands to others.
func TestBellThroughATransactionPoolerIsPolledAndLocksNothing(t *testing.T) {
	dsn, conn := newBelled(t)
	s := watch(t, open(t, postgres.Config{URL: always(pgbouncer(t, dsn)), SQL: belled()}))
	s.polls(t, "listenURL")
	for range 20 {
		if n := number(t, conn, bellLocks); n != 0 {
			t.Fatalf("%d locks are held through the pooler", n)
		}
	}
	for _, mode := range s.now().modes {
		if mode != driver.ModeEdgePoll {
			t.Errorf("the engine believed in %q", mode)
		}
	}
}

func TestBellThroughASessionPoolerLeavesNothingBehind(t *testing.T) {
	dsn, conn := newBelled(t)
	through := pgbouncer(t, dsn, "pool_mode = session", "default_pool_size = 5", "server_reset_query =")
	engine := open(t, postgres.Config{URL: always(through), SQL: belled()})
	engine.Hurry()
	ctx, cancel := context.WithCancel(t.Context())
	s := &sink{state: seen{signals: map[string]int{}}}
	done := make(chan error, 1)
	go func() { done <- engine.Watch(ctx, s) }()
	s.armed(t)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	eventually(t, "nothing is locked", func() bool { return number(t, conn, bellLocks) == 0 })
}
