package goodjob_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/goodjob"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

var preset = *goodjob.Preset.Postgres

func TestQueryIsTheReviewedText(t *testing.T) {
	sqltest.Golden(t, "testdata/postgres.golden.sql", sqltest.OpenPostgres(t, preset, "host=127.0.0.1", `My "Jobs"`).Query())
}

func TestGoodJobKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.PostgresHarness(preset, install, storagetest.Abilities{
		Push: driver.ModeListen, Everything: true, Lookahead: true, Paused: true, Retries: true,
	}))
}

func TestGoodJobInASchemaOfItsOwn(t *testing.T) {
	sqltest.InASchema(t, preset, install)
}

func TestTheDocumentedGrantSuffices(t *testing.T) {
	sqltest.Grants(t, preset, install)
}

var byName = cmpopts.SortSlices(func(a, b driver.Queue) bool { return a.Name < b.Name })

var ages = cmpopts.IgnoreFields(driver.Queue{}, "Oldest", "NextDue")

func TestReadWorksFromVersion40On(t *testing.T) {
	for name, install := range map[string]func(*sqltest.DB) fixture{"4.0": install40, "4.19": install} {
		url := storagetest.Postgres(t)
		f := install(sqltest.Postgres(t, url))
		f.Insert("mail", 3)
		f.Schedule("mail", 2, time.Hour)
		f.Run("mail", 1)
		f.Finish("done", 1)
		engine := sqltest.OpenPostgres(t, preset, url, "")
		want := []driver.Queue{{Name: "mail", Known: true, Ready: 3, Running: 1, Scheduled: 2, Pool: &driver.Pool{}}}
		if name != "4.0" { // which has no index to find finished jobs by
			want = slices.Insert(want, 0, driver.Queue{Name: "done", Known: true, Pool: &driver.Pool{}})
		}
		if diff := cmp.Diff(want, sqltest.Read(t, engine, 10, driver.Want{}), ages, byName); diff != "" {
			t.Errorf("version %s: %s", name, diff)
		}
		if got := sqltest.ReadQueue(t, engine, "done").Known; got != (name != "4.0") {
			t.Errorf("version %s: a queue of finished jobs is known: %v", name, got)
		}
	}
}

func TestReadNamesTheColumnThatAnOlderVersionLacks(t *testing.T) {
	url := storagetest.Postgres(t)
	db := sqltest.Postgres(t, url)
	install40(db)
	db.Exec("ALTER TABLE good_jobs DROP COLUMN locked_by_id")
	sqltest.Fails(t, sqltest.OpenPostgres(t, preset, url, ""), driver.Schema, "locked_by_id does not exist", "migrations")
}

// A job whose process was killed keeps performed_at, and the next worker takes it.
func TestAJobThatADeadProcessLeftIsReadyAgain(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.Orphan("mail", 1, 4*time.Minute) // late, and not given up
	f.Orphan("mail", 2, 6*time.Minute) // dead
	f.add("mail", 4, map[string]any{   // released when the dead process was cleaned up
		"scheduled_at": from(-10 * time.Minute), "performed_at": from(-9 * time.Minute), "error": "interrupted",
	})
	f.add("mail", 8, map[string]any{ // of a process that is gone
		"scheduled_at": from(-time.Hour), "performed_at": from(-time.Hour), "locked_by_id": sqltest.Expr("gen_random_uuid()"),
	})
	got := sqltest.ReadQueue(t, sqltest.OpenPostgres(t, preset, url, ""), "mail")
	sqltest.Near(t, "oldest", got.Oldest, time.Hour)
	if got.Running != 1 || got.Ready != 14 {
		t.Errorf("got %+v, want 1 running and 14 ready", got)
	}
}

// With every job of the limit running, those behind them still show.
func TestRunningJobsDoNotHideReadyOnesBehindTheLimit(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.Run("mail", 5)
	f.Insert("mail", 2)
	got := sqltest.Read(t, sqltest.OpenPostgres(t, preset, url, ""), 3, driver.Want{Queue: "mail"})[0]
	want := driver.Queue{Name: "mail", Known: true, Ready: 2, Running: 3, Saturated: true, Pool: &driver.Pool{}}
	if diff := cmp.Diff(want, got, ages); diff != "" {
		t.Error(diff)
	}
}

func TestPausedClassesAndLabelsAreNotReady(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.add("mail", 1, map[string]any{"job_class": "Slow", "scheduled_at": from(-time.Hour)})
	f.add("mail", 2, map[string]any{"labels": []string{"eu", "bulk"}, "scheduled_at": from(-time.Hour)})
	f.add("mail", 4, map[string]any{"labels": []string{"eu"}, "scheduled_at": from(-10 * time.Minute)})
	f.Run("mail", 8)
	engine := sqltest.OpenPostgres(t, preset, url, "")
	expect := func(ready int64, oldest time.Duration) {
		t.Helper()
		got := sqltest.ReadQueue(t, engine, "mail")
		sqltest.Near(t, "oldest", got.Oldest, oldest)
		if got.Ready != ready || got.Running != 8 || got.Paused {
			t.Errorf("got %+v, want %d ready and 8 running", got, ready)
		}
	}
	expect(7, time.Hour)
	f.pause("job_classes", "Slow")
	expect(6, time.Hour)
	f.pause("labels", "bulk")
	expect(4, 10*time.Minute)
	f.pause("labels", "eu")
	expect(0, 0)
}

func TestThePoolIsTheLiveSchedulersThatServeTheQueue(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.process(`{"schedulers": [{"queues": "*", "max_threads": 2}]}`, 0)
	f.process(`{"schedulers": [{"queues": "mail, images", "max_threads": 3}, {"queues": "+mail", "max_threads": 1}]}`, time.Minute)
	f.process(`{"schedulers": [{"queues": "-mail,images", "max_threads": 7}]}`, time.Minute)
	f.process(`{"schedulers": [{"queues": "mail", "max_threads": 100}]}`, 6*time.Minute) // dead
	f.process(`{"schedulers": []}`, 0)                                                   // a web server
	f.process(`{}`, 0)
	engine := sqltest.OpenPostgres(t, preset, url, "")
	for queue, want := range map[string]driver.Pool{
		"mail": {Workers: 2, Capacity: 6}, "images": {Workers: 2, Capacity: 5}, "other": {Workers: 2, Capacity: 9},
	} {
		if diff := cmp.Diff(&want, sqltest.ReadQueue(t, engine, queue).Pool); diff != "" {
			t.Errorf("%s: %s", queue, diff)
		}
	}
}

// Case 58.
func TestReadTakesTimesForUTCWhateverTheDatabasesZone(t *testing.T) {
	url := storagetest.Postgres(t)
	db := sqltest.Postgres(t, url)
	db.Exec("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = ''Europe/Berlin''', current_database()); END $$")
	f := install(db)
	f.Schedule("mail", 1, -time.Minute)
	f.Schedule("mail", 1, time.Hour)
	f.Run("mail", 1)
	got := sqltest.ReadQueue(t, sqltest.OpenPostgres(t, preset, url, ""), "mail")
	sqltest.Near(t, "oldest", got.Oldest, time.Minute)
	sqltest.Near(t, "next due", got.NextDue, time.Hour)
	if got.Ready != 1 || got.Scheduled != 1 || got.Running != 1 {
		t.Errorf("got %+v, want 1 of each", got)
	}
}

func TestReadsAreBoundedProbes(t *testing.T) {
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	f := install40(db)
	bounded := func(when string) {
		t.Helper()
		for limit, most := range map[int]int{1: 200, 1000: 2500} {
			cost := sqltest.Explain(db, preset.Query, `[{"queue": "big", "lookahead": 0}]`, limit, "good_jobs")
			if cost.Buffers > most {
				t.Errorf("%s: limit %d looked at %d pages, want at most %d", when, limit, cost.Buffers, most)
			}
			if slices.ContainsFunc(cost.Scans, func(scan string) bool { return !strings.HasPrefix(scan, "Index") }) {
				t.Errorf("%s: limit %d did %v, want probes of indexes only", when, limit, cost.Scans)
			}
		}
		if cost := sqltest.Explain(db, preset.Query, sqltest.AbsentWants(1000), 100_000); cost.Buffers > 1000*20 {
			t.Errorf("%s: 1,000 names that nobody uses cost %d pages", when, cost.Buffers)
		}
		if cost := sqltest.Explain(db, preset.Query, `[{"queue": null, "lookahead": 0}]`, 1); cost.Buffers > 500 {
			t.Errorf("%s: all queues cost %d pages", when, cost.Buffers)
		}
	}
	db.Exec("ALTER TABLE good_jobs SET (autovacuum_enabled = off)")
	f.add("big", 50_000, map[string]any{"scheduled_at": from(0) + " - i * interval '1 second'"})
	f.add("big", 50_000, map[string]any{"scheduled_at": from(time.Minute) + " + i * interval '1 second'"})
	f.Finish("big", 50_000)
	f.Finish("done", 50_000)
	f.Run("big", 100)
	bounded("4.0, never analyzed")
	db.Exec(schema419SQL)
	bounded("4.19, never analyzed")
	db.Exec("VACUUM ANALYZE good_jobs")
	bounded("4.19, analyzed")
	db.Exec("DROP INDEX index_good_jobs_on_queue_name")
	bounded("4.18, analyzed")
}
