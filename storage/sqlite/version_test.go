package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/sqlite"
)

// versioned is a preset of a library whose column was renamed between versions 2 and 3.
var versioned = driver.SQL{
	Version: "SELECT number FROM {schema}version;\n",
	Layouts: []driver.Layout{
		{From: 1, To: 2, Query: "SELECT 'jobs' AS queue, n AS ready FROM {schema}backlog"},
		{From: 3, To: 3, Query: "SELECT 'jobs' AS queue, jobs AS ready FROM {schema}backlog"},
	},
	Static: true,
}

func withVersions(cfg *sqlite.Config) { cfg.SQL = versioned }

func TestReadUsesTheLayoutOfTheTablesVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	writer := newWAL(t, path)
	engine := openEngine(t, path, withVersions)
	wantError(t, engine, driver.Schema, "not installed here", "no such table: version", "run its migrations")
	writer.exec(`CREATE TABLE version (number integer); CREATE TABLE backlog (n integer); INSERT INTO backlog VALUES (5)`)
	wantError(t, engine, driver.Schema, "not installed here", "no schema version")
	writer.exec(`INSERT INTO version VALUES (NULL)`)
	wantError(t, engine, driver.Schema, "not installed here")
	writer.exec(`UPDATE version SET number = 99`)
	wantError(t, engine, driver.Schema, "version 99", "known are 1–3", "update leadsman")
	writer.exec(`UPDATE version SET number = 2`)
	if got := ready(t, engine); got != 5 {
		t.Errorf("version 2: ready = %d, want 5", got)
	}
}

func TestReadFollowsAMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	writer := newWAL(t, path)
	writer.exec(`CREATE TABLE version AS SELECT 2 AS number; CREATE TABLE backlog AS SELECT 5 AS n`)
	engine := openEngine(t, path, withVersions)
	ready(t, engine)
	writer.exec(`BEGIN; ALTER TABLE backlog RENAME n TO jobs; UPDATE backlog SET jobs = 7; UPDATE version SET number = 3; COMMIT`)
	// The read that finds the file open fails, as far as there is one, and lets go of it.
	for range 2 {
		if reading, err := read(t.Context(), engine); err == nil {
			if got := reading.Queues[0].Ready; got != 7 {
				t.Errorf("ready = %d after the migration, want 7", got)
			}
			return
		}
	}
	t.Error("two reads after the migration failed")
}

func TestOpenRefusesAQueryBesideLayouts(t *testing.T) {
	both := versioned
	both.Query = "SELECT 1"
	if _, err := sqlite.Open(sqlite.Config{Path: "jobs.db", SQL: both}); err == nil {
		t.Error("want an error")
	}
}
