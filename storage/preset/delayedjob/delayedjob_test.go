package delayedjob_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/delayedjob"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// A stale lock makes a job ready, so that jobs without a worker are never orphans: the suite's ability is left out.
var abilities = storagetest.Abilities{Everything: true, Lookahead: true, Retries: true}

func TestDelayedJobOnPostgresKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.PostgresHarness(*delayedjob.Preset.Postgres, newFixture, abilities))
}

func TestDelayedJobOnSQLiteKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.SQLiteHarness(*delayedjob.Preset.SQLite, newFixture, abilities))
}

// onBoth runs a test on both engines.
func onBoth(t *testing.T, test func(*testing.T, fixture, driver.Reader)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		url := storagetest.Postgres(t)
		test(t, newFixture(sqltest.Postgres(t, url)), sqltest.OpenPostgres(t, *delayedjob.Preset.Postgres, url, ""))
	})
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.db")
		test(t, newFixture(sqltest.SQLite(t, path)), sqltest.OpenSQLite(t, *delayedjob.Preset.SQLite, path))
	})
}

var counts = cmpopts.IgnoreFields(driver.Queue{}, "Oldest", "NextDue")

func TestJobsWithoutAQueueHaveANameOfTheirOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture, engine driver.Reader) {
		f.add(nil, 2, 0, nil)
		f.add("", 1, time.Hour, nil)
		f.add("default", 4, 0, nil)
		want := []driver.Queue{
			{Name: "(none)", Known: true, Ready: 2, Scheduled: 1},
			{Name: "default", Known: true, Ready: 4},
		}
		byName := cmpopts.SortSlices(func(a, b driver.Queue) bool { return a.Name < b.Name })
		for _, wants := range [][]driver.Want{{{}}, {{Queue: delayedjob.NoQueue}, {Queue: "default"}}} {
			if diff := cmp.Diff(want, sqltest.Read(t, engine, 0, wants...), counts, byName); diff != "" {
				t.Errorf("%v: %s", wants, diff)
			}
		}
	})
}

func TestAJobIsReadyAgainWhenItsLockHasExpired(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture, engine driver.Reader) {
		f.Orphan("mail", 3, 5*time.Hour)
		f.Orphan("mail", 2, 3*time.Hour)
		got := sqltest.ReadQueue(t, engine, "mail")
		if diff := cmp.Diff(driver.Queue{Name: "mail", Known: true, Ready: 3, Running: 2}, got, counts); diff != "" {
			t.Error(diff)
		}
		sqltest.Near(t, "oldest", got.Oldest, time.Hour) // since the lock expired
	})
}

func TestJobsThatFailedForGoodOnlyMakeTheirQueueKnown(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture, engine driver.Reader) {
		f.add("mail", 3, -time.Minute, map[string]any{"failed_at": f.after(0), "attempts": 25})
		f.add("mail", 1, -time.Minute, map[string]any{"failed_at": f.after(0), "locked_at": f.after(0)})
		if diff := cmp.Diff(driver.Queue{Name: "mail", Known: true}, sqltest.ReadQueue(t, engine, "mail")); diff != "" {
			t.Error(diff)
		}
	})
}

func TestATableOfBeforeNamedQueuesIsASchemaError(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture, engine driver.Reader) {
		f.db.Exec("ALTER TABLE delayed_jobs RENAME COLUMN queue TO lane")
		_, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: "mail"}}})
		var known *driver.Error
		if !errors.As(err, &known) || known.Kind != driver.Schema {
			t.Errorf("got %v, want a schema error", err)
		}
	})
}
