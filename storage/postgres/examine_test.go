package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// jobs reads a table of the preset's own by a query with parameters, as the presets do.
var jobs = driver.SQL{Query: `SELECT w.queue AS queue, 0::float8 AS lookahead, count(j.queue) AS ready
	FROM jsonb_to_recordset(@wants::jsonb) AS w(queue text, lookahead float8)
	JOIN {schema}jobs j ON w.queue IS NULL OR j.queue = w.queue WHERE @limit::bigint >= 0 AND @running_max_age::float8 > 0 GROUP BY 1`}

// examined returns the findings by their checks.
func examined(t *testing.T, engine *postgres.Engine) map[string]driver.Finding {
	t.Helper()
	findings, err := engine.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byCheck := make(map[string]driver.Finding, len(findings))
	for _, f := range findings {
		if _, twice := byCheck[f.Check]; twice || f.Found == "" {
			t.Errorf("%+v comes twice, or says nothing", f)
		}
		byCheck[f.Check] = f
	}
	return byCheck
}

// finds holds one finding against a level and words.
func finds(t *testing.T, findings map[string]driver.Finding, check string, level driver.Level, says ...string) {
	t.Helper()
	f, ok := findings[check]
	if !ok || f.Level != level {
		t.Errorf("%s: got %+v of %v, want level %s", check, f, findings, level)
		return
	}
	for _, part := range says {
		if !strings.Contains(f.Found+"; "+f.Remedy, part) {
			t.Errorf("%s: %q, %q does not say %q", check, f.Found, f.Remedy, part)
		}
	}
}

func TestExamineSaysWhatItIsConnectedTo(t *testing.T) {
	dsn := storagetest.Postgres(t)
	run(t, connect(t, dsn), "CREATE TABLE jobs (queue text)", "INSERT INTO jobs VALUES ('mail')")
	limited := newRole(t, dsn, "examiner")
	run(t, connect(t, dsn), "GRANT SELECT ON jobs TO examiner")
	found := examined(t, open(t, postgres.Config{URL: always(limited), SQL: jobs, Schema: "public"}))
	finds(t, found, "credentials", driver.LevelOK, `"examiner"`)
	finds(t, found, "server", driver.LevelOK, "PostgreSQL 1", "primary")
	finds(t, found, "pooler", driver.LevelOK, "none")
	finds(t, found, "permissions", driver.LevelOK, `"public"."jobs"`)
	finds(t, found, "privileges", driver.LevelOK, "only read")
	finds(t, found, "row-level security", driver.LevelOK)
	finds(t, found, "indexes", driver.LevelOK, "short")
}

// The grants that are missing are named at once, and each is one that helps.
func TestExamineNamesEveryGrantThatIsMissing(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, `CREATE SCHEMA "My Schema"`, `CREATE TABLE "My Schema".jobs (queue text)`, `CREATE TABLE "My Schema".pauses (queue text)`)
	preset := jobs
	preset.Query += ` HAVING (SELECT count(*) FROM {schema}pauses) >= 0`
	limited := newRole(t, dsn, "ungranted")
	engine := open(t, postgres.Config{URL: always(limited), SQL: preset, Schema: "My Schema"})
	f := examined(t, engine)["permissions"]
	const want = `as the owner run: GRANT USAGE ON SCHEMA "My Schema" TO "ungranted"; ` +
		`GRANT SELECT ON "My Schema"."jobs", "My Schema"."pauses" TO "ungranted";`
	if f.Level != driver.LevelFail || f.Remedy != want {
		t.Fatalf("got %+v, want the remedy %s", f, want)
	}
	_, grants, _ := strings.Cut(f.Remedy, "run: ")
	run(t, conn, grants)
	finds(t, examined(t, engine), "permissions", driver.LevelOK)
	if _, err := engine.Read(t.Context(), every); err != nil {
		t.Errorf("what was said to be granted is not enough: %v", err)
	}
}

// Case 56.
func TestExamineFindsPoliciesThatHideRows(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, "CREATE TABLE jobs (queue text)", "ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
	limited := newRole(t, dsn, "hidden")
	run(t, conn, "GRANT SELECT ON jobs TO hidden")
	engine := open(t, postgres.Config{URL: always(limited), SQL: jobs})
	finds(t, examined(t, engine), "row-level security", driver.LevelFail, `ALTER ROLE "hidden" BYPASSRLS`, `"public"."jobs"`)
	run(t, conn, "ALTER ROLE hidden BYPASSRLS")
	finds(t, examined(t, engine), "row-level security", driver.LevelOK)
}

func TestExamineWarnsOfARoleThatMayDoTooMuchOrTooLittle(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, "CREATE TABLE jobs (queue text)")
	finds(t, examined(t, open(t, postgres.Config{URL: always(dsn), SQL: jobs})), "privileges", driver.LevelWarn,
		"superuser", `GRANT SELECT ON "public"."jobs" TO leadsman`)
	limited := newRole(t, dsn, "writer")
	run(t, conn, "GRANT SELECT, DELETE ON jobs TO writer", "ALTER ROLE writer CONNECTION LIMIT 2")
	found := examined(t, open(t, postgres.Config{URL: always(limited), SQL: jobs}))
	finds(t, found, "privileges", driver.LevelNote, "may also write", "only reads")
	finds(t, found, "connection limit", driver.LevelWarn, "2 connections", "maxConns")
}

func TestExamineFindsTablesThatASampleReadsWhole(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, "CREATE TABLE jobs AS SELECT 'mail' AS queue FROM generate_series(1, 20000)", "ANALYZE jobs")
	engine := open(t, postgres.Config{URL: always(dsn), SQL: jobs})
	finds(t, examined(t, engine), "indexes", driver.LevelWarn, `"public"."jobs" (about 20000 rows)`, "migrations")
	run(t, conn, "CREATE INDEX by_queue ON jobs (queue)", "VACUUM ANALYZE jobs")
	finds(t, examined(t, engine), "indexes", driver.LevelOK, "by_queue")
}

func TestExamineSaysWhichVersionTheTablesHave(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	preset := driver.SQL{
		Version: "SELECT max(n) FROM {schema}version",
		Layouts: []driver.Layout{{From: 3, To: 4, Query: jobs.Query}},
	}
	engine := open(t, postgres.Config{URL: always(dsn), SQL: preset})
	finds(t, examined(t, engine), "schema version", driver.LevelFail, "not installed", "migrations")
	run(t, conn, "CREATE TABLE version (n int)", "INSERT INTO version VALUES (4)", "CREATE TABLE jobs (queue text)")
	finds(t, examined(t, engine), "schema version", driver.LevelOK, "4, which this leadsman knows")
	run(t, conn, "UPDATE version SET n = 5")
	finds(t, examined(t, engine), "schema version", driver.LevelFail, "version 5", "update leadsman")
}

// Case 50.
func TestExamineDetectsAPooler(t *testing.T) {
	dsn := storagetest.Postgres(t)
	run(t, connect(t, dsn), "CREATE TABLE jobs (queue text)")
	through := pgbouncer(t, dsn)
	known := open(t, postgres.Config{URL: always(through), SQL: jobs, Pooler: true})
	finds(t, examined(t, known), "pooler", driver.LevelNote, "lies between")
	unknown := open(t, postgres.Config{URL: always(through), SQL: jobs})
	for range 2 { // a statement that was prepared is missing only at its second use
		if _, err := unknown.Read(t.Context(), every); err != nil {
			t.Fatal(err)
		}
	}
	found := examined(t, unknown)
	if f := found["pooler"]; f.Level == driver.LevelOK {
		t.Errorf("got %+v", f)
	}
	finds(t, found, "permissions", driver.LevelOK)
}

func TestExamineFailsWhereNobodyIsLetIn(t *testing.T) {
	dsn := storagetest.Postgres(t)
	_, err := open(t, postgres.Config{URL: always(as(t, dsn, "nobody", "hunter2")), SQL: jobs}).Examine(t.Context())
	if err == nil || !strings.Contains(err.Error(), "refused the credentials") {
		t.Errorf("got %v", err)
	}
	closed := fmt.Sprintf("postgres://nobody@127.0.0.1:%d/app", storagetest.FreePort(t))
	if _, err := open(t, postgres.Config{URL: always(closed), SQL: jobs}).Examine(t.Context()); err == nil {
		t.Error("a port on which nobody listens was examined")
	}
}
