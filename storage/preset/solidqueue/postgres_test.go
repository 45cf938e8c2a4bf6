package solidqueue_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/solidqueue"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

var preset = *solidqueue.Preset.Postgres

func TestQueryIsTheReviewedText(t *testing.T) {
	sqltest.Golden(t, "testdata/postgres.golden.sql", sqltest.OpenPostgres(t, preset, "host=127.0.0.1", `My "Jobs"`).Query())
}

// The suite holds cases 59 (due jobs that no dispatcher promoted) and 60 (claims of dead processes).
func TestSolidQueueKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.PostgresHarness(preset, install, storagetest.Abilities{
		Everything: true, Lookahead: true, Paused: true, Retries: true, Orphans: true,
	}))
}

func TestSolidQueueInASchemaOfItsOwn(t *testing.T) {
	sqltest.InASchema(t, preset, install)
}

func TestTheDocumentedGrantSuffices(t *testing.T) {
	sqltest.Grants(t, preset, install)
}

// Case 31.
func TestBlockedAndFailedJobsDoNotCount(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.add("mail", 500, "blocked_executions (job_id, queue_name, priority, concurrency_key, expires_at, created_at)",
		"id, queue_name, priority, 'k', created_at, created_at")
	f.add("mail", 3, "failed_executions (job_id, error, created_at)", "id, '{}', created_at")
	want := driver.Queue{Name: "mail", Known: true, Pool: &driver.Pool{}}
	if diff := cmp.Diff(want, sqltest.ReadQueue(t, sqltest.OpenPostgres(t, preset, url, ""), "mail")); diff != "" {
		t.Error(diff)
	}
}

func TestAClaimCountsAsLongAsItsProcessBeats(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.Orphan("mail", 1, 4*time.Minute)                                                              // late, and not given up
	f.Orphan("mail", 2, 6*time.Minute)                                                              // dead
	f.add("mail", 4, "claimed_executions (job_id, process_id, created_at)", "id, NULL, created_at") // of nobody
	f.add("mail", 8, "claimed_executions (job_id, process_id, created_at)", "id, 4711, created_at") // of one that is gone
	if got := sqltest.ReadQueue(t, sqltest.OpenPostgres(t, preset, url, ""), "mail"); got.Running != 1 {
		t.Errorf("got %+v, want 1 running", got)
	}
}

func TestThePoolIsTheLiveWorkersThatServeTheQueue(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.worker(`{"polling_interval":0.1,"queues":"*","thread_pool_size":3}`, 0)
	f.worker(`{"polling_interval":0.1,"queues":"mail, mail*,images","thread_pool_size":5}`, time.Minute)
	f.worker(`{"queues":"mail-*","thread_pool_size":7}`, time.Minute)
	f.worker(`{"queues":"mail","thread_pool_size":100}`, 6*time.Minute) // dead
	f.worker(``, 0)                                                     // says nothing
	f.Exec(`INSERT INTO solid_queue_processes (kind, name, pid, metadata, last_heartbeat_at, created_at)
		VALUES ('Dispatcher', 'd', 1, '{"batch_size":500}', ` + f.from(0) + ", " + f.from(0) + ")")
	engine := sqltest.OpenPostgres(t, preset, url, "")
	for queue, want := range map[string]driver.Pool{
		"mail": {Workers: 3, Capacity: 8}, "mail-eu": {Workers: 4, Capacity: 15}, "images": {Workers: 3, Capacity: 8},
		"other": {Workers: 2, Capacity: 3}, "Mail": {Workers: 2, Capacity: 3},
	} {
		if diff := cmp.Diff(&want, sqltest.ReadQueue(t, engine, queue).Pool); diff != "" {
			t.Errorf("%s: %s", queue, diff)
		}
	}
}

func TestAPausedQueueHasNothingReady(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.Insert("mail", 3)
	f.Schedule("mail", 2, -time.Minute)
	f.Schedule("mail", 1, time.Hour)
	f.Pause("mail")
	got := sqltest.ReadQueue(t, sqltest.OpenPostgres(t, preset, url, ""), "mail")
	got.NextDue = 0
	want := driver.Queue{Name: "mail", Known: true, Paused: true, Scheduled: 1, Pool: &driver.Pool{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A job that was dispatched late has an old job and a new execution; and low priorities starve.
func TestTheOldestIsFoundInEveryPriority(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.Insert("mail", 3000)
	f.Exec("UPDATE solid_queue_ready_executions SET created_at = created_at - interval '2 hours' WHERE id = 2501")
	engine := sqltest.OpenPostgres(t, preset, url, "")
	sqltest.Near(t, "oldest", sqltest.ReadQueue(t, engine, "mail").Oldest, 2*time.Hour)
	f.Schedule("mail", 1, -3*time.Hour)
	sqltest.Near(t, "oldest", sqltest.ReadQueue(t, engine, "mail").Oldest, 3*time.Hour)
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

func TestReadsAreBounded(t *testing.T) {
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	f := install(db)
	tables := []string{"jobs", "ready_executions", "scheduled_executions", "claimed_executions"}
	for i, table := range tables {
		tables[i] = "solid_queue_" + table
		db.Exec("ALTER TABLE " + tables[i] + " SET (autovacuum_enabled = off)")
	}
	bounded := func(when string) {
		t.Helper()
		for limit, most := range map[int]int{1: 3000, 1000: 4500} { // a thousand heads of each of three priorities
			cost := sqltest.Explain(db, preset.Query, `[{"queue": "big", "lookahead": 0}]`, limit, tables...)
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
	}
	f.Insert("big", 100_000)
	f.Finish("done", 100_000)
	f.Run("big", 100)
	bounded("never analyzed")
	db.Exec("VACUUM ANALYZE")
	bounded("analyzed")
}

func TestScheduledJobsBeyondABoundAreCountedAsSaturated(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.Schedule("soon", 100_001, time.Minute)
	f.Schedule("mail", 1, time.Hour)
	f.Insert("mail", 1)
	engine := sqltest.OpenPostgres(t, preset, url, "")
	if got := sqltest.Read(t, engine, 10, driver.Want{Queue: "mail"})[0]; got.Ready != 1 || !got.Saturated {
		t.Errorf("got %+v, want 1 ready and, because more may be scheduled, saturated", got)
	}
	if got := sqltest.ReadQueue(t, engine, "mail"); got.Scheduled != 1 || got.Saturated {
		t.Errorf("without a limit: got %+v, want 1 scheduled", got)
	}
}
