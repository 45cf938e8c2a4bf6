package flexiq_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/flexiq"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

var abilities = storagetest.Abilities{Everything: true, Lookahead: true, Paused: true, Retries: true, Orphans: true}

func TestFlexiQOnPostgresKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.PostgresHarness(*flexiq.Preset.Postgres, newFixture, abilities))
}

func TestFlexiQOnSQLiteKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.SQLiteHarness(*flexiq.Preset.SQLite, newFixture, abilities))
}

// onBoth runs a test on both engines.
func onBoth(t *testing.T, test func(*testing.T, *fixture, driver.Reader)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		url := storagetest.Postgres(t)
		test(t, newFixture(sqltest.Postgres(t, url)), sqltest.OpenPostgres(t, *flexiq.Preset.Postgres, url, ""))
	})
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.db")
		test(t, newFixture(sqltest.SQLite(t, path)), sqltest.OpenSQLite(t, *flexiq.Preset.SQLite, path))
	})
}

// compared leaves out ages and workers.
var compared = cmpopts.IgnoreFields(driver.Queue{}, "Oldest", "NextDue", "Pool")

func TestAQueueOfANamespaceGoesByBothNames(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture, engine driver.Reader) {
		f.Insert("mail", 1)
		f.add("jobs", "mail", 2, 0, map[string]any{"namespace": "acme"})
		f.add("jobs", "mail", 4, 0, map[string]any{"namespace": "zeta"})
		f.pause("mail", "zeta")
		f.Insert("acme/mail", 8) // of the default namespace, with a slash in its name
		want := []driver.Queue{
			{Name: "acme/mail", Known: true, Ready: 10},
			{Name: "mail", Known: true, Ready: 1},
			{Name: "zeta/mail", Known: true, Paused: true},
		}
		byName := cmpopts.SortSlices(func(a, b driver.Queue) bool { return a.Name < b.Name })
		for _, wants := range [][]driver.Want{{{}}, {{Queue: "mail"}, {Queue: "acme/mail"}, {Queue: "zeta/mail"}}} {
			if diff := cmp.Diff(want, sqltest.Read(t, engine, 0, wants...), byName, compared); diff != "" {
				t.Errorf("%v: %s", wants, diff)
			}
		}
	})
}

func TestJobsThatWaitForOthersAndExpiredOnesAreNotReady(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture, engine driver.Reader) {
		deps := map[string]any{"has_deps": true}
		needs := func(job, other string) {
			f.db.Insert("job_dependencies", 1, map[string]any{"id": job + other, "job_id": job + "1", "depends_on_job_id": other + "1"})
		}
		done := f.add("archived_jobs", "mail", 1, 0, map[string]any{"status": complete})
		dead := f.add("archived_jobs", "mail", 1, 0, map[string]any{"status": 4})
		live := f.add("jobs", "mail", 1, time.Hour, nil)
		needs(f.add("jobs", "mail", 1, -10*time.Minute, deps), done)
		needs(f.add("jobs", "mail", 1, -time.Hour, deps), dead)
		needs(f.add("jobs", "mail", 1, -time.Hour, deps), live)
		f.add("jobs", "mail", 5, -time.Hour, map[string]any{"expires_at": after(-time.Minute)})
		got := sqltest.ReadQueue(t, engine, "mail")
		if diff := cmp.Diff(driver.Queue{Name: "mail", Known: true, Ready: 1, Scheduled: 1}, got, compared); diff != "" {
			t.Error(diff)
		}
		sqltest.Near(t, "oldest", got.Oldest, 10*time.Minute)
	})
}

func TestRunningGoesByTheWorkersHeartbeat(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture, engine driver.Reader) {
		f.work("mail", 2, 0, 8)
		f.work("mail", 3, time.Minute, 16)                                                                        // a dead worker's
		f.add("jobs", "mail", 1, 0, map[string]any{"status": running, "started_at": after(-time.Hour)})           // nobody's
		f.add("jobs", "mail", 9, 0, map[string]any{"status": running, "started_at": after(-40 * 24 * time.Hour)}) // and old
		want := driver.Queue{Name: "mail", Known: true, Running: 3, Pool: &driver.Pool{Workers: 1, Capacity: 8}}
		if diff := cmp.Diff(want, sqltest.ReadQueue(t, engine, "mail")); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTablesOfBeforeNamespacedWorkersAreASchemaError(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture, engine driver.Reader) {
		f.db.Exec("ALTER TABLE workers DROP COLUMN namespace")
		_, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: "mail"}}})
		var known *driver.Error
		if !errors.As(err, &known) || known.Kind != driver.Schema || !strings.Contains(known.Message, "namespace") {
			t.Errorf("got %v, want a schema error that names the column", err)
		}
	})
}

func TestPostgresQueryIsTheReviewedText(t *testing.T) {
	for file, schema := range map[string]string{"postgres.golden.sql": "", "postgres_schema.golden.sql": `My "Jobs"`} {
		engine := sqltest.OpenPostgres(t, *flexiq.Preset.Postgres, "host=127.0.0.1", schema)
		sqltest.Golden(t, filepath.Join("testdata", file), engine.Query())
	}
}

func TestReadsTheSourcesSchema(t *testing.T) {
	sqltest.InASchema(t, *flexiq.Preset.Postgres, newFixture)
}

func TestTheDocumentedGrantSuffices(t *testing.T) {
	sqltest.Grants(t, *flexiq.Preset.Postgres, newFixture)
}

func TestPostgresReadsAreBoundedProbesOfTheIndex(t *testing.T) {
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	f := newFixture(db)
	f.Insert("big", 100_000)
	f.Schedule("big", 100_000, time.Hour)
	f.add("jobs", "small", 1000, 0, map[string]any{"queue": sqltest.Expr("'q' || i % 100")})
	f.Finish("big", 1000)
	bounded := func(when string) {
		t.Helper()
		for _, tt := range []struct {
			name, wants string
			limit, most int
		}{
			{"one queue", `[{"queue": "big", "lookahead": 0}]`, 1, 200},
			{"one queue", `[{"queue": "big", "lookahead": 0}]`, 1000, 10_000},
			{"1,000 absent queues", sqltest.AbsentWants(1000), 1000, 1000 * 40},
			{"all of 101 queues", `[{"queue": null, "lookahead": 0}]`, 1, 101 * 150},
		} {
			cost := sqltest.Explain(db, flexiq.Preset.Postgres.Query, tt.wants, tt.limit, "jobs", "archived_jobs")
			if cost.Buffers > tt.most {
				t.Errorf("%s: %s at limit %d looked at %d pages, want at most %d", when, tt.name, tt.limit, cost.Buffers, tt.most)
			}
			if slices.ContainsFunc(cost.Scans, func(scan string) bool { return !strings.HasPrefix(scan, "Index") }) {
				t.Errorf("%s: %s did %q", when, tt.name, cost.Scans)
			}
		}
	}
	bounded("never analyzed")
	for _, table := range []string{"jobs", "archived_jobs"} {
		db.Exec(fmt.Sprintf("VACUUM ANALYZE %s", table))
	}
	bounded("analyzed")
}

func TestSQLiteReadsScanNoTableOfJobs(t *testing.T) {
	db := sqltest.SQLite(t, filepath.Join(t.TempDir(), "jobs.db"))
	newFixture(db)
	for _, step := range sqltest.QueryPlan(db, flexiq.Preset.SQLite.Query) {
		switch step {
		case "SCAN jobs", "SCAN job", "SCAN archived_jobs", "SCAN live", "SCAN done", "SCAN needed", "SCAN claim":
			t.Errorf("a scan: %s", step)
		}
	}
}
