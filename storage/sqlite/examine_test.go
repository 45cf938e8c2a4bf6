package sqlite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/sqlite"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// finds holds the finding of a check against a level and words.
func finds(t *testing.T, engine *sqlite.Engine, check string, level driver.Level, says ...string) {
	t.Helper()
	findings, err := engine.Examine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if f.Check != check {
			continue
		}
		if f.Level != level {
			t.Errorf("%s: got %+v, want level %s", check, f, level)
		}
		for _, part := range says {
			if !strings.Contains(f.Found+"; "+f.Remedy, part) {
				t.Errorf("%s: %+v does not say %q", check, f, part)
			}
		}
		return
	}
	t.Errorf("there is no finding for %s: %+v", check, findings)
}

func TestExamineSaysHowTheFileIsJournalled(t *testing.T) {
	wal := newWAL(t, filepath.Join(t.TempDir(), "wal.db"))
	finds(t, openEngine(t, wal.path), "journal", driver.LevelOK, "WAL")
	finds(t, openEngine(t, wal.path), "file system", driver.LevelOK, "local")
	rollback := newRollback(t, filepath.Join(t.TempDir(), "rollback.db"), "DELETE")
	finds(t, openEngine(t, rollback.path), "journal", driver.LevelWarn, "delete", "PRAGMA journal_mode=WAL")
}

func TestExamineSaysByWhichIndexesAFileIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "river.db")
	storagetest.RiverSQLite(t, file).Insert("mail", 3)
	finds(t, openEngine(t, file, withRiver), "indexes", driver.LevelOK, "river_job")
	plain := newWAL(t, filepath.Join(t.TempDir(), "plain.db"))
	finds(t, openEngine(t, plain.path), "indexes", driver.LevelNote, "no index")
}

func TestExamineKnowsTheVersionOfTheTables(t *testing.T) {
	s := newWAL(t, filepath.Join(t.TempDir(), "versioned.db"))
	s.exec("CREATE TABLE version (n integer)")
	s.exec("INSERT INTO version VALUES (7)")
	engine := openEngine(t, s.path, func(cfg *sqlite.Config) {
		cfg.SQL = driver.SQL{
			Version: "SELECT n FROM version",
			Layouts: []driver.Layout{{From: 7, To: 8, Query: "SELECT 'jobs' AS queue, count(*) AS ready, 0.0 AS lookahead FROM jobs"}},
		}
	})
	finds(t, engine, "schema version", driver.LevelOK, "7, which this leadsman knows")
}

// The tables that are missing are for the read to tell.
func TestExamineOfAFileWithoutTheTablesIsNoFailure(t *testing.T) {
	s := newWAL(t, filepath.Join(t.TempDir(), "empty.db"))
	finds(t, openEngine(t, s.path, withRiver), "file system", driver.LevelOK)
}

func TestExamineFailsWithoutTheFile(t *testing.T) {
	_, err := openEngine(t, filepath.Join(t.TempDir(), "absent.db")).Examine(t.Context())
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("got %v", err)
	}
}
