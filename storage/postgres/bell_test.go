package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

const jobsTable = `CREATE TABLE jobs (id bigserial PRIMARY KEY, queue text, held boolean NOT NULL DEFAULT false)`

// belled is a preset for a library that announces nothing.
func belled() driver.SQL {
	sql := static("SELECT queue, count(*) AS ready FROM jobs WHERE NOT held GROUP BY queue")
	sql.Bell = &driver.Bell{
		Preset: "test", Queue: "NEW.queue",
		Tables: []driver.BellTable{{Name: "jobs", Insert: "NOT NEW.held", Update: "NOT NEW.held AND OLD.held"}},
	}
	return sql
}

// bellSQL is what installs a preset's bell.
func bellSQL(t *testing.T, sql driver.SQL) string {
	t.Helper()
	text, err := postgres.BellSQL(sql, "")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// newBelled makes a database with a table of jobs and its bell.
func newBelled(t *testing.T) (dsn string, conn *pgx.Conn) {
	t.Helper()
	dsn = storagetest.Postgres(t)
	conn = connect(t, dsn)
	run(t, conn, jobsTable, bellSQL(t, belled()))
	return dsn, conn
}

// armed waits until the bell is armed.
func (s *sink) armed(t *testing.T) {
	t.Helper()
	s.wait(t, "the bell is armed", func(s seen) bool { return s.mode == driver.ModeBell && s.signals[""] > 0 })
}

// polls waits until the engine says that it polls, and why.
func (s *sink) polls(t *testing.T, why string) {
	t.Helper()
	s.wait(t, "edge polling because: "+why, func(s seen) bool { return s.mode == driver.ModeEdgePoll && strings.Contains(s.why, why) })
}

const (
	insertMail = "INSERT INTO jobs (queue) VALUES ('mail')"
	// bellLocks are those of the readers of the test's database.
	bellLocks = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
)

// An eavesdropper hears what the bell rings.
type eavesdropper struct {
	t    *testing.T
	conn *pgx.Conn
}

func eavesdrop(t *testing.T, dsn string) eavesdropper {
	t.Helper()
	return eavesdropOn(t, dsn, "test")
}

func eavesdropOn(t *testing.T, dsn, preset string) eavesdropper {
	t.Helper()
	conn := connect(t, dsn)
	run(t, conn, "LISTEN "+bellChannel(t, conn, preset), "LISTEN end_of_rings")
	return eavesdropper{t, conn}
}

// bellChannel is where a preset's bell rings.
func bellChannel(t *testing.T, conn *pgx.Conn, preset string) (channel string) {
	t.Helper()
	const said = `SELECT substring(obj_description(('leadsman_bell_' || $1)::regproc, 'pg_proc') FROM 'channel (\w+)')`
	if err := conn.QueryRow(t.Context(), said, preset).Scan(&channel); err != nil {
		t.Fatal(err)
	}
	return channel
}

// rings counts what has been rung until now.
func (e eavesdropper) rings() int {
	e.t.Helper()
	run(e.t, e.conn, "NOTIFY end_of_rings") // notifications come in the order of their commits
	for n := 0; ; n++ {
		heard, err := e.conn.WaitForNotification(e.t.Context())
		if err != nil {
			e.t.Fatal(err)
		}
		if heard.Channel == "end_of_rings" {
			return n
		}
	}
}

func TestBellSignalsAnInsert(t *testing.T) {
	dsn, conn := newBelled(t)
	engine := open(t, postgres.Config{URL: always(dsn), SQL: belled()})
	s := watch(t, engine)
	s.armed(t)
	before := s.now().signals[""]
	run(t, conn, insertMail)
	s.wait(t, "a signal, for all as nobody has asked for a queue", func(s seen) bool { return s.signals[""] > before })
	ready(t, engine, "mail")
	s.wait(t, "a signal for the queue that is wanted now", func(s seen) bool { return s.signals["mail"] > 0 })
}

func TestBellIsArmedForTheWantedQueuesOnly(t *testing.T) {
	dsn, conn := newBelled(t)
	engine := open(t, postgres.Config{URL: always(dsn), SQL: belled()})
	watch(t, engine).armed(t)
	eventually(t, "all buckets are locked", func() bool { return number(t, conn, bellLocks) == 64*8 })
	ready(t, engine, "mail")
	eventually(t, "one bucket is locked", func() bool { return number(t, conn, bellLocks) == 8 })
	run(t, conn, "INSERT INTO jobs (queue) SELECT 'other-' || i FROM generate_series(1, 20) AS i")
	ready(t, engine, "print")
	eventually(t, "two buckets are locked", func() bool { return number(t, conn, bellLocks) == 16 })
	if _, err := engine.Read(t.Context(), every); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all buckets are locked again", func() bool { return number(t, conn, bellLocks) == 64*8 })
}

func TestBellRingsOnlyWhileSomebodyWaits(t *testing.T) {
	dsn, conn := newBelled(t)
	ear := eavesdrop(t, dsn)
	run(t, conn, insertMail)
	if n := ear.rings(); n != 0 {
		t.Fatalf("%d rings and nobody waits", n)
	}
	engine := open(t, postgres.Config{URL: always(dsn), SQL: belled()})
	s := watch(t, engine, postgres.Rest(time.Hour))
	s.armed(t)
	run(t, conn, insertMail)
	eventually(t, "the ring", func() bool { return ear.rings() == 1 })
	eventually(t, "the bucket is let go", func() bool { return number(t, conn, bellLocks) == 63*8 })
	for range 10 {
		run(t, conn, insertMail)
	}
	if n := ear.rings(); n != 0 {
		t.Errorf("%d rings while the reader rests", n)
	}
	polled := s.now().signals[""]
	s.wait(t, "signals go on without a ring", func(s seen) bool { return s.signals[""] > polled+3 })
}

func TestBellIsArmedAgainAfterARest(t *testing.T) {
	dsn, conn := newBelled(t)
	engine := open(t, postgres.Config{URL: always(dsn), SQL: belled()})
	ready(t, engine, "mail")
	watch(t, engine).armed(t)
	ear := eavesdrop(t, dsn)
	for range 5 {
		eventually(t, "an insert that rings", func() bool {
			run(t, conn, insertMail)
			return ear.rings() > 0
		})
	}
}

func TestBellRingsForWhatBecomesRunnable(t *testing.T) {
	tests := map[string]struct {
		statements []string
		rings      bool
	}{
		"insert":              {[]string{insertMail}, true},
		"insert of no job":    {[]string{"INSERT INTO jobs (queue, held) VALUES ('mail', true)"}, false},
		"insert of no queue":  {[]string{"INSERT INTO jobs (queue) VALUES (NULL)"}, true},
		"insert of many":      {[]string{"INSERT INTO jobs (queue) SELECT 'mail' FROM generate_series(1, 1000)"}, true},
		"release":             {[]string{"UPDATE jobs SET held = false WHERE id = 1"}, true},
		"hold":                {[]string{"UPDATE jobs SET held = true WHERE id = 2"}, false},
		"delete":              {[]string{"DELETE FROM jobs WHERE id = 2"}, false},
		"rollback":            {[]string{"BEGIN", insertMail, "ROLLBACK"}, false},
		"savepoint":           {[]string{"BEGIN", "SAVEPOINT a", insertMail, "RELEASE a", "COMMIT"}, true},
		"lost savepoint":      {[]string{"BEGIN", "SAVEPOINT a", insertMail, "ROLLBACK TO a", "COMMIT"}, false},
		"lost and done again": {[]string{"BEGIN", "SAVEPOINT a", insertMail, "ROLLBACK TO a", insertMail, "COMMIT"}, true},
		"rung for nobody":     {[]string{"BEGIN", insertMail, "ROLLBACK", insertMail}, true},
		"serializable":        {[]string{"BEGIN ISOLATION LEVEL SERIALIZABLE", insertMail, "COMMIT"}, true},
		"muted":               {[]string{"BEGIN", "SET LOCAL bell.mute = on", insertMail, "COMMIT"}, false},
		"a bent search path":  {[]string{"SET search_path = evil, pg_catalog, public", insertMail, "RESET search_path"}, true},
		"another table":       {[]string{"INSERT INTO other VALUES ('mail')"}, false},
	}
	dsn, conn := newBelled(t)
	run(t, conn, "INSERT INTO jobs (queue, held) VALUES ('mail', true), ('mail', false)", "CREATE TABLE other (queue text)",
		"CREATE SCHEMA evil; CREATE FUNCTION evil.pg_try_advisory_lock(int, int) RETURNS bool LANGUAGE sql RETURN true;"+
			"CREATE FUNCTION evil.pg_advisory_unlock(int, int) RETURNS bool LANGUAGE sql RETURN true")
	ear := eavesdrop(t, dsn)
	run(t, connect(t, dsn), // a reader that does not let go
		`SELECT pg_advisory_lock_shared(substring(obj_description('leadsman_bell_test'::regproc, 'pg_proc') FROM 'class (\d+)')::int, k)
			FROM generate_series(0, 511) AS k`)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			run(t, conn, tt.statements...)
			if n := ear.rings(); n > 0 != tt.rings {
				t.Errorf("%d rings", n)
			}
		})
	}
}

func TestBellOfAPartitionedTableRingsForAllPartitions(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, "CREATE TABLE jobs (queue text, held boolean NOT NULL DEFAULT false) PARTITION BY LIST (queue)",
		"CREATE TABLE jobs_mail PARTITION OF jobs FOR VALUES IN ('mail')",
		bellSQL(t, belled()), bellSQL(t, belled()), // twice does no harm
		"CREATE TABLE jobs_print (LIKE jobs INCLUDING DEFAULTS); ALTER TABLE jobs ATTACH PARTITION jobs_print FOR VALUES IN ('print')")
	s := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: belled()}))
	s.armed(t)
	ear := eavesdrop(t, dsn)
	for _, statement := range []string{insertMail, "INSERT INTO jobs (queue) VALUES ('print')", "INSERT INTO jobs_print (queue) VALUES ('print')"} {
		eventually(t, "a ring for "+statement, func() bool {
			run(t, conn, statement)
			return ear.rings() > 0
		})
	}
	run(t, conn, "ALTER TABLE jobs_mail DISABLE TRIGGER ALL")
	s.polls(t, "the bell is disabled")
}

// A transaction that rang cannot be prepared; the mute is for those, and the notification that they send afterwards.
func TestBellLetsTwoPhaseCommitsPass(t *testing.T) {
	dsn, conn := newBelled(t)
	engine := open(t, postgres.Config{URL: always(dsn), SQL: belled()})
	ready(t, engine, "mail")
	s := watch(t, engine)
	s.armed(t)
	run(t, conn, "BEGIN", insertMail)
	if _, err := conn.Exec(t.Context(), "PREPARE TRANSACTION 'rung'"); err == nil {
		t.Fatal("a transaction with a NOTIFY was prepared")
	}
	eventually(t, "the bell is armed", func() bool { return number(t, conn, bellLocks) == 8 })
	run(t, conn, "BEGIN", "SET LOCAL bell.mute = on", insertMail, "PREPARE TRANSACTION 'muted'", "COMMIT PREPARED 'muted'")
	before := s.now().signals[""]
	run(t, conn, "NOTIFY "+bellChannel(t, conn, "test"))
	s.wait(t, "a signal", func(s seen) bool { return s.signals[""] > before })
}

func TestBellSeesWhatWasInProgressWhenItWasArmed(t *testing.T) {
	dsn, conn := newBelled(t)
	long := connect(t, dsn)
	run(t, long, "BEGIN", insertMail)
	run(t, conn, "BEGIN", insertMail, "PREPARE TRANSACTION 'prepared'")
	engine := open(t, postgres.Config{URL: always(dsn), SQL: belled()})
	ready(t, engine, "mail")
	s := watch(t, engine, postgres.Check(time.Hour)) // whose signals would hide what is missing
	s.armed(t)
	eventually(t, "the bell is armed", func() bool { return number(t, conn, bellLocks) == 8 })
	for _, commit := range []struct {
		conn *pgx.Conn
		sql  string
	}{{long, "COMMIT"}, {conn, "COMMIT PREPARED 'prepared'"}} {
		before := s.now().signals["mail"]
		run(t, commit.conn, commit.sql)
		s.wait(t, "a signal after "+commit.sql, func(s seen) bool { return s.signals["mail"] > before })
	}
}

func TestBellWorksForARoleThatMayOnlyRead(t *testing.T) {
	dsn, conn := newBelled(t)
	limited := newRole(t, dsn, "bell_reader")
	run(t, conn, "GRANT SELECT ON jobs TO bell_reader", "ALTER ROLE bell_reader SET default_transaction_read_only = on",
		"ALTER ROLE bell_reader SET default_transaction_isolation = 'repeatable read'")
	s := watch(t, open(t, postgres.Config{URL: always(limited), SQL: belled()}))
	s.armed(t)
	before := s.now().signals[""]
	run(t, conn, insertMail)
	s.wait(t, "a signal", func(s seen) bool { return s.signals[""] > before })
}
