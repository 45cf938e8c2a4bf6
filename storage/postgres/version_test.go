package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// versioned is a preset of a library whose column was renamed between versions 2 and 3.
var versioned = driver.SQL{
	Version: "SELECT number FROM {schema}version",
	Layouts: []driver.Layout{
		{From: 1, To: 2, Query: "SELECT queue, n AS ready FROM {schema}jobs"},
		{From: 3, To: 3, Query: "SELECT queue, jobs AS ready FROM {schema}jobs"},
	},
	Static: true,
}

// install makes the library's tables in version 2, with 5 jobs for mail.
func install(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn := connect(t, dsn)
	run(t, conn, "CREATE TABLE version AS SELECT 2 AS number", "CREATE TABLE jobs AS SELECT 'mail' AS queue, 5 AS n")
	return conn
}

// migrate goes on to version 3, with 7 jobs.
var migrate = []string{
	"BEGIN", "ALTER TABLE jobs RENAME n TO jobs", "UPDATE jobs SET jobs = 7", "UPDATE version SET number = 3", "COMMIT",
}

func TestReadUsesTheLayoutOfTheTablesVersion(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := install(t, dsn)
	for _, pooler := range []bool{false, true} {
		if got := ready(t, open(t, postgres.Config{URL: always(dsn), SQL: versioned, Pooler: pooler}), "mail"); got != 5 {
			t.Errorf("pooler %v, version 2: got %d ready, want 5", pooler, got)
		}
	}
	run(t, conn, migrate...)
	for _, pooler := range []bool{false, true} {
		if got := ready(t, open(t, postgres.Config{URL: always(dsn), SQL: versioned, Pooler: pooler}), "mail"); got != 7 {
			t.Errorf("pooler %v, version 3: got %d ready, want 7", pooler, got)
		}
	}
}

func TestReadAsksForTheVersionOncePerConnection(t *testing.T) {
	dsn := storagetest.Postgres(t)
	install(t, dsn)
	proxy := newCounter(t, dsn)
	engine := open(t, postgres.Config{URL: always(proxy.dsn), SQL: versioned, MaxConns: 1})
	ready(t, engine, "mail")
	before := proxy.turns.Load()
	for range 3 {
		ready(t, engine, "mail")
	}
	if got := proxy.turns.Load() - before; got != 3 {
		t.Errorf("three reads took %d round trips, want 3", got)
	}
}

func TestReadFollowsAMigration(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := install(t, dsn)
	for _, pooler := range []bool{false, true} {
		engine := open(t, postgres.Config{URL: always(dsn), SQL: versioned, Pooler: pooler})
		ready(t, engine, "mail")
		run(t, conn, migrate...)
		if got := ready(t, engine, "mail"); got != 7 { // no read fails for it
			t.Errorf("pooler %v: got %d ready after the migration, want 7", pooler, got)
		}
		run(t, conn, "ALTER TABLE jobs RENAME jobs TO n", "UPDATE jobs SET n = 5", "UPDATE version SET number = 2")
	}
}

func TestReadRefusesAVersionThatThePresetDoesNotKnow(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := install(t, dsn)
	engine := open(t, postgres.Config{URL: always(dsn), SQL: versioned})
	run(t, conn, "UPDATE version SET number = 99")
	mustFail(t, engine, driver.Schema, "version 99", "known are 1–3", "update leadsman")
	run(t, conn, "UPDATE version SET number = 0")
	mustFail(t, engine, driver.Schema, "version 0", "known are 1–3", "update the job library")
	run(t, conn, "UPDATE version SET number = 2")
	if got := ready(t, engine, "mail"); got != 5 {
		t.Errorf("got %d ready once the version is known, want 5", got)
	}
}

func TestReadSaysThatTheLibraryIsNotInstalled(t *testing.T) {
	dsn := storagetest.Postgres(t)
	elsewhere := open(t, postgres.Config{URL: always(dsn), SQL: versioned, Schema: "nowhere"})
	mustFail(t, elsewhere, driver.Schema, "not installed here", `"nowhere.version" does not exist`, "schema")
	engine := open(t, postgres.Config{URL: always(dsn), SQL: versioned})
	mustFail(t, engine, driver.Schema, "not installed here", `"version" does not exist`, "run its migrations")
	conn := install(t, dsn)
	run(t, conn, "UPDATE version SET number = NULL")
	mustFail(t, engine, driver.Schema, "not installed here", "no schema version")
	run(t, conn, "DELETE FROM version")
	mustFail(t, engine, driver.Schema, "not installed here", "no schema version")
	run(t, conn, "INSERT INTO version VALUES (2), (3)")
	mustFail(t, engine, driver.Contract, "2 rows")
	byType := versioned
	byType.Version = "SELECT typrelid::bigint FROM pg_type WHERE oid = pg_typeof(NULL::absent)"
	mustFail(t, open(t, postgres.Config{URL: always(dsn), SQL: byType}), driver.Schema, "not installed here", `"absent"`)
}

func TestReadOfTheVersionIsBoundAndClassifiedAsAnyRead(t *testing.T) {
	dsn := storagetest.Postgres(t)
	install(t, dsn)
	limited := newRole(t, dsn, "unversioned")
	mustFail(t, open(t, postgres.Config{URL: always(limited), SQL: versioned}), driver.Denied,
		`GRANT SELECT ON "version" TO "unversioned"`)
	writing := versioned
	writing.Version = "DELETE FROM version RETURNING number"
	mustFail(t, open(t, postgres.Config{URL: always(dsn), SQL: writing}), driver.Contract, "only reads")
	bounds := versioned
	bounds.Version = "SELECT CASE WHEN current_setting('lock_timeout') = '1s' AND current_setting('row_security') = 'off' THEN 2 END"
	if got := ready(t, open(t, postgres.Config{URL: always(dsn), SQL: bounds}), "mail"); got != 5 {
		t.Errorf("got %d ready, want 5", got)
	}
}

func TestOpenRefusesAQueryBesideLayouts(t *testing.T) {
	both := versioned
	both.Query = "SELECT 1"
	if _, err := postgres.Open(postgres.Config{URL: always("host=127.0.0.1"), SQL: both}); err == nil {
		t.Error("want an error")
	}
	engine := open(t, postgres.Config{URL: always("host=127.0.0.1"), SQL: versioned, Schema: "s"})
	queries := engine.Queries()
	if len(queries) != 2 || queries[1] != engine.Query() || queries[1] != `SELECT queue, jobs AS ready FROM "s".jobs` {
		t.Errorf("Queries() = %q, Query() = %q", queries, engine.Query())
	}
}
