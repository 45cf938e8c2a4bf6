package que_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/que"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

var preset = *que.Preset.Postgres

func TestQueriesAreTheReviewedTexts(t *testing.T) {
	for i, query := range sqltest.OpenPostgres(t, preset, "host=127.0.0.1", `My "Jobs"`).Queries() {
		sqltest.Golden(t, fmt.Sprintf("testdata/postgres_%d.golden.sql", preset.Layouts[i].From), query)
	}
}

func TestQueKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.PostgresHarness(preset, install, storagetest.Abilities{
		Push: driver.ModeListen, Everything: true, Lookahead: true, Retries: true,
	}))
}

func TestQueInASchemaOfItsOwn(t *testing.T) {
	sqltest.InASchema(t, preset, install)
}

func TestTheDocumentedGrantSuffices(t *testing.T) {
	sqltest.Grants(t, preset, install)
}

func TestReadKnowsEachVersionFrom4(t *testing.T) {
	for version := 4; version <= newest; version++ {
		url := storagetest.Postgres(t)
		f := installVersion(sqltest.Postgres(t, url), version)
		f.Run("mail", 8)
		f.Insert("mail", 16)
		f.Schedule("mail", 3, time.Hour)
		f.Insert("other", 1)
		engine := sqltest.OpenPostgres(t, preset, url, "")
		got := sqltest.ReadQueue(t, engine, "mail")
		if got.Ready != 16 || got.Running != 8 || got.Scheduled != 3 {
			t.Errorf("version %d: got %+v, want 16 ready, 8 running, 3 scheduled", version, got)
		}
		if all := sqltest.Read(t, engine, 10, driver.Want{}); len(all) != 2 {
			t.Errorf("version %d: got %+v, want two queues", version, all)
		}
	}
}

func TestReadTellsTheVersionByTheTablesComment(t *testing.T) {
	url := storagetest.Postgres(t)
	db := sqltest.Postgres(t, url)
	install(db)
	engine := sqltest.OpenPostgres(t, preset, url, "")
	db.Exec("COMMENT ON TABLE que_jobs IS '99'")
	sqltest.Fails(t, engine, driver.Schema, "version 99: known are 4–7; update leadsman")
	db.Exec("COMMENT ON TABLE que_jobs IS '3'")
	sqltest.Fails(t, engine, driver.Schema, "version 3: known are 4–7; update the job library")
	db.Exec("COMMENT ON TABLE que_jobs IS 'jobs of ours'")
	sqltest.Fails(t, engine, driver.Schema, "not installed here", "no schema version")
	db.Exec("COMMENT ON TABLE que_jobs IS NULL")
	sqltest.Fails(t, engine, driver.Schema, "not installed here", "no schema version")
}

// The locks go with the connection, and the row in que_lockers stays.
func TestAJobWhoseWorkerDiedIsReadyAgain(t *testing.T) {
	url := storagetest.Postgres(t)
	db := sqltest.Postgres(t, url)
	f := install(db)
	worker := fixture{sqltest.Postgres(t, url), newest}
	worker.Run("mail", 3)
	f.Insert("mail", 1)
	engine := sqltest.OpenPostgres(t, preset, url, "")
	alive := driver.Queue{Name: "mail", Known: true, Ready: 1, Running: 3, Pool: &driver.Pool{Workers: 1, Capacity: 6}}
	got := sqltest.ReadQueue(t, engine, "mail")
	got.Oldest = 0
	if diff := cmp.Diff(alive, got); diff != "" {
		t.Errorf("with a worker: %s", diff)
	}
	f.Exec("SELECT pg_terminate_backend(pid, 30000) FROM que_lockers")
	dead := driver.Queue{Name: "mail", Known: true, Ready: 4, Pool: &driver.Pool{}}
	got = sqltest.ReadQueue(t, engine, "mail")
	got.Oldest = 0
	if diff := cmp.Diff(dead, got); diff != "" {
		t.Errorf("without: %s", diff)
	}
}

func TestALockOfSomebodyElseKeepsAJobFromBeingReadyAndIsNoWorker(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.add("mail", 2, map[string]any{"job_class": "Locked", "run_at": from(-time.Hour)})
	f.lock("mail", "Locked")
	f.Insert("mail", 1)
	f.Exec("SELECT pg_advisory_lock(1, id::integer), pg_advisory_lock_shared(4711000 + id) FROM que_jobs") // of other kinds
	engine := sqltest.OpenPostgres(t, preset, url, "")
	got := sqltest.ReadQueue(t, engine, "mail")
	sqltest.Near(t, "oldest", got.Oldest, 0)
	if got.Ready != 1 || got.Running != 0 {
		t.Errorf("got %+v, want 1 ready", got)
	}
	elsewhere := storagetest.Postgres(t) // locks belong to a database
	install(sqltest.Postgres(t, elsewhere)).add("mail", 3, nil)
	if got := sqltest.ReadQueue(t, sqltest.OpenPostgres(t, preset, elsewhere, ""), "mail"); got.Ready != 3 {
		t.Errorf("in another database: got %+v, want 3 ready", got)
	}
}

// With every job of the limit running, those behind them still show.
func TestRunningJobsDoNotHideReadyOnesBehindTheLimit(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.Run("mail", 9)
	f.Insert("mail", 2)
	got := sqltest.Read(t, sqltest.OpenPostgres(t, preset, url, ""), 3, driver.Want{Queue: "mail"})[0]
	if got.Ready != 2 || got.Running != 3 || !got.Saturated {
		t.Errorf("got %+v, want 2 ready and more than 3 running", got)
	}
}

func TestThePoolIsTheLiveLockersOfTheQueue(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.locker("mail", "images")
	fixture{sqltest.Postgres(t, url), newest}.locker("mail")
	f.Exec(`INSERT INTO que_lockers VALUES (2147483647, 6, '{10}', 1, 'gone', '{mail}', true, 2)`)
	engine := sqltest.OpenPostgres(t, preset, url, "")
	for queue, want := range map[string]driver.Queue{
		"mail":   {Name: "mail", Known: true, Pool: &driver.Pool{Workers: 2, Capacity: 12}},
		"images": {Name: "images", Known: true, Pool: &driver.Pool{Workers: 1, Capacity: 6}},
		"other":  {Name: "other", Pool: &driver.Pool{}},
	} {
		if diff := cmp.Diff(want, sqltest.ReadQueue(t, engine, queue)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestReadsAreBoundedProbesOfQuesIndex(t *testing.T) {
	for i, version := range []int{5, 7} {
		db := sqltest.Postgres(t, storagetest.Postgres(t))
		f := installVersion(db, version)
		query := preset.Layouts[i].Query
		bounded := func(when string) {
			t.Helper()
			for limit, most := range map[int]int{1: 500, 1000: 4000} {
				cost := sqltest.Explain(db, query, `[{"queue": "big", "lookahead": 0}]`, limit, "que_jobs")
				if cost.Buffers > most {
					t.Errorf("version %d, %s: limit %d looked at %d pages, want at most %d", version, when, limit, cost.Buffers, most)
				}
				if slices.ContainsFunc(cost.Scans, func(scan string) bool { return !strings.HasPrefix(scan, "Index") }) {
					t.Errorf("version %d, %s: limit %d did %v, want probes of indexes only", version, when, limit, cost.Scans)
				}
			}
			if cost := sqltest.Explain(db, query, sqltest.AbsentWants(1000), 100_000); cost.Buffers > 1000*20 {
				t.Errorf("version %d, %s: 1,000 names that nobody uses cost %d pages", version, when, cost.Buffers)
			}
		}
		db.Exec("ALTER TABLE que_jobs SET (autovacuum_enabled = off); ALTER TABLE que_jobs DISABLE TRIGGER USER;" +
			"DROP INDEX que_jobs_data_gin_idx, que_jobs_args_gin_idx") // only to load faster
		f.add("big", 100_000, map[string]any{"run_at": from(0) + " - i * interval '1 second'"})
		f.add("big", 50_000, map[string]any{"run_at": from(time.Minute) + " + i * interval '1 second'"})
		f.Finish("big", 50_000)
		f.Run("big", 100)
		bounded("never analyzed")
		db.Exec("VACUUM ANALYZE que_jobs")
		bounded("analyzed")
	}
}
