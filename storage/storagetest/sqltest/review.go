package sqltest

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
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
	const schema = `My "Jobs" x'; DROP`
	url := storagetest.Postgres(t)
	newFixture(PostgresIn(t, url, schema)).Insert("mail", 2)
	if got := ReadQueue(t, OpenPostgres(t, preset, url, schema), "mail"); got.Ready != 2 {
		t.Errorf("in schema %s: %+v, want 2 ready", schema, got)
	}
}
