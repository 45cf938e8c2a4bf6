package sqltest

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// Golden compares a text with a reviewed file.
func Golden(t *testing.T, path, got string) {
	t.Helper()
	storagetest.Golden(t, path, got)
}

// Grants holds a preset to the GRANT lines of its README.md: a role that has these and no more must read what the
// fixture inserts.
func Grants[F storagetest.Fixture](t *testing.T, preset driver.SQL, newFixture func(*DB) F) {
	t.Helper()
	db := Postgres(t, storagetest.Postgres(t))
	newFixture(db).Insert("mail", 2)
	if got := ReadQueue(t, OpenPostgres(t, preset, Granted(t, db), ""), "mail"); got.Ready != 2 {
		t.Errorf("with the documented grants: %+v, want 2 ready", got)
	}
}

// Granted makes the role leadsman with what the GRANT lines of the preset's README.md give it, and no more, and returns
// the database's URL for that role. It goes when the test ends.
func Granted(t *testing.T, db *DB) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	db.Exec("CREATE ROLE leadsman LOGIN CONNECTION LIMIT 5")
	t.Cleanup(func() {
		// The test's context is done by now.
		if _, err := db.db.ExecContext(context.Background(), "DROP OWNED BY leadsman; DROP ROLE leadsman"); err != nil {
			t.Error(err)
		}
	})
	grants := 0
	for line := range strings.Lines(string(readme)) {
		if strings.HasPrefix(line, "GRANT ") {
			db.Exec(line)
			grants++
		}
	}
	if grants == 0 {
		t.Fatal("README.md documents no GRANT")
	}
	return strings.Replace(db.url, "postgres@", "leadsman@", 1)
}

// InASchema holds a preset to its tables being in a schema with an awkward name, which is not in the search path.
func InASchema[F storagetest.Fixture](t *testing.T, preset driver.SQL, newFixture func(*DB) F) {
	t.Helper()
	for _, schema := range oddSchemas() {
		url := storagetest.Postgres(t)
		db := PostgresIn(t, url, schema)
		f := newFixture(db)
		f.Insert("mail", 2)
		before := contents(db)
		if got := ReadQueue(t, OpenPostgres(t, preset, url, schema), "mail"); got.Ready != 2 {
			t.Errorf("in schema %s: %+v, want 2 ready", schema, got)
		}
		if preset.Bell != nil {
			ringAndRemove(t, preset, db, schema, func() { f.Insert("mail", 1) })
		}
		if diff := cmp.Diff(before, contents(db)); diff != "" {
			t.Errorf("in schema %s, what there is has changed (-before +after):\n%s", schema, diff)
		}
	}
}

// oddSchemas are names of schemas that would do something else than be names if they were put into SQL as they are: 51
// bytes each at the most, because Oban's channel, which has 63, has another twelve.
func oddSchemas() []string {
	return []string{
		`My "Jobs" x'; DROP SCHEMA public CASCADE; --`,
		`{schema} @wants :limit $1 ? %s %1$I {{.S}}/*\'\\é\`,
		`$queues$$trigger$;$bell$;$$;DROP TABLE a; $queues_$`,
	}
}

// contents is all tables and functions of a database that are not PostgreSQL's own, one a line.
func contents(db *DB) (all string) {
	db.tb.Helper()
	db.Row(`SELECT coalesce(string_agg(line, E'\n' ORDER BY line), '') FROM (
		SELECT c.relkind::text || ' ' || c.oid || ' ' || n.nspname || ' ' || c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n
			ON n.oid = c.relnamespace WHERE n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
		UNION ALL SELECT 'function ' || p.oid || ' ' || n.nspname || ' ' || p.proname FROM pg_catalog.pg_proc p
			JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
	) AS t(line)`, &all)
	return all
}

// ringAndRemove installs the bell in a schema, twice, inserts, and takes it away again.
func ringAndRemove(t *testing.T, preset driver.SQL, db *DB, schema string, insert func()) {
	t.Helper()
	text, err := postgres.BellSQL(preset, schema)
	if err != nil {
		t.Fatal(err)
	}
	drop, err := postgres.BellDropSQL(preset, schema)
	if err != nil {
		t.Fatal(err)
	}
	triggers := func() (n int) {
		db.Row("SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgname LIKE 'leadsman%' AND NOT tgisinternal", &n)
		return n
	}
	for range 2 {
		db.Exec(text)
	}
	if triggers() == 0 {
		t.Errorf("in schema %s no trigger was made by:\n%s", schema, text)
	}
	insert()
	db.Exec(drop)
	if n := triggers(); n > 0 {
		t.Errorf("in schema %s %d triggers are left by:\n%s", schema, n, drop)
	}
}
