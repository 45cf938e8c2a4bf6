package river_test

import (
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/preset/river"
	"github.com/leadsman/leadsman/storage/storagetest"
)

func TestRiverOnPostgresKeepsTheContracts(t *testing.T) {
	conform(t, "")
}

func TestRiverOnPostgresInASchemaOfItsOwnKeepsTheContracts(t *testing.T) {
	conform(t, "MyJobs")
}

func conform(t *testing.T, schema string) {
	t.Helper()
	storagetest.Run(t, storagetest.Harness{
		Open: func(t *testing.T) (driver.Reader, storagetest.Fixture) {
			url := storagetest.Postgres(t)
			fixture := storagetest.RiverPostgresIn(t, url, schema)
			return open(t, url, schema), fixture
		},
		OpenBare: func(t *testing.T) driver.Reader { return open(t, storagetest.Postgres(t), schema) },
		Abilities: storagetest.Abilities{
			Push: driver.ModeListen, Everything: true, Lookahead: true, Paused: true, Retries: true, Orphans: true,
		},
	})
}

func open(t *testing.T, url, schema string) *postgres.Engine {
	t.Helper()
	engine, err := postgres.Open(postgres.Config{
		URL: func() (string, error) { return url, nil }, Schema: schema, SQL: *river.Preset.Postgres,
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}
