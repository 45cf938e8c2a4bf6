package pgboss_test

import (
	"fmt"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/preset/pgboss"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// open is an engine that is closed when the test ends.
func open(t *testing.T, dsn, schema string) *postgres.Engine {
	t.Helper()
	return sqltest.OpenPostgres(t, *pgboss.Preset.Postgres, dsn, schema)
}

func TestQueriesAreTheReviewedTexts(t *testing.T) {
	for i, text := range open(t, "host=127.0.0.1", "").Queries() {
		sqltest.Golden(t, fmt.Sprintf("testdata/postgres_%d.golden.sql", pgboss.Preset.Postgres.Layouts[i].From), text)
	}
}

func TestAnUnknownVersionIsAnErrorThatNamesIt(t *testing.T) {
	for version, remedy := range map[string]string{"19": "update the job library", "47": "update leadsman"} {
		dsn := storagetest.Postgres(t)
		sqltest.PostgresIn(t, dsn, "pgboss").Exec("CREATE TABLE version AS SELECT " + version + " AS version")
		sqltest.Fails(t, open(t, dsn, ""), driver.Schema, "version "+version, remedy)
	}
}
