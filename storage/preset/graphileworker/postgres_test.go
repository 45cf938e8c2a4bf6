package graphileworker_test

import (
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/preset/graphileworker"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// open is an engine that is closed when the test ends.
func open(t *testing.T, dsn, schema string) *postgres.Engine {
	t.Helper()
	return sqltest.OpenPostgres(t, *graphileworker.Preset.Postgres, dsn, schema)
}

func TestQueryIsTheReviewedText(t *testing.T) {
	sqltest.Golden(t, "testdata/postgres.golden.sql", open(t, "host=127.0.0.1", "").Query())
}

func TestAnUnknownVersionIsAnErrorThatNamesIt(t *testing.T) {
	for version, remedy := range map[string]string{"16": "update the job library", "21": "update leadsman"} {
		dsn := storagetest.Postgres(t)
		sqltest.PostgresIn(t, dsn, "graphile_worker").Exec("CREATE TABLE migrations AS SELECT generate_series(1, " + version + ") AS id")
		sqltest.Fails(t, open(t, dsn, ""), driver.Schema, "version "+version, remedy)
	}
}
