package sqltest

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// Golden compares a text with a reviewed file.
func Golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", path, diff)
	}
}

// Grants holds a preset to the GRANT lines of its README.md: a role that has these and no more must read what the
// fixture inserts.
func Grants[F storagetest.Fixture](t *testing.T, preset driver.SQL, newFixture func(*DB) F) {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	url := storagetest.Postgres(t)
	db := Postgres(t, url)
	newFixture(db).Insert("mail", 2)
	db.Exec("CREATE ROLE leadsman LOGIN CONNECTION LIMIT 5")
	defer db.Exec("DROP OWNED BY leadsman; DROP ROLE leadsman")
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
	engine := newPostgres(t, preset, strings.Replace(url, "postgres@", "leadsman@", 1), "")
	defer engine.Close()
	if got := ReadQueue(t, engine, "mail"); got.Ready != 2 {
		t.Errorf("with the documented grants: %+v, want 2 ready", got)
	}
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
