package solidqueue_test

import (
	"path/filepath"
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

var sqlitePreset = *solidqueue.Preset.SQLite

func TestSolidQueueOnSQLiteKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.SQLiteHarness(sqlitePreset, install, storagetest.Abilities{
		Everything: true, Lookahead: true, Paused: true, Retries: true, Orphans: true,
	}))
}

func TestSQLiteCountsAsPostgresDoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	f := install(sqltest.SQLite(t, path))
	f.add("mail", 50, "blocked_executions (job_id, queue_name, priority, concurrency_key, expires_at, created_at)",
		"id, queue_name, priority, 'k', created_at, created_at") // case 31
	f.add("mail", 3, "failed_executions (job_id, error, created_at)", "id, '{}', created_at")
	f.Orphan("mail", 1, 4*time.Minute)
	f.Orphan("mail", 2, 6*time.Minute)
	f.add("mail", 4, "claimed_executions (job_id, process_id, created_at)", "id, NULL, created_at")
	f.worker(`{"polling_interval":0.1,"queues":"*","thread_pool_size":3}`, 0)
	f.worker(`{"queues":"mail, mail*,\"odd\"","thread_pool_size":5}`, time.Minute)
	f.worker(`{"queues":"mail","thread_pool_size":100}`, 6*time.Minute)
	f.worker(`no JSON`, 0)
	engine := sqltest.OpenSQLite(t, sqlitePreset, path)
	for _, want := range []driver.Queue{
		{Name: "mail", Known: true, Running: 1, Pool: &driver.Pool{Workers: 3, Capacity: 8}},
		{Name: "mail-eu", Pool: &driver.Pool{Workers: 3, Capacity: 8}},
		{Name: `"odd"`, Pool: &driver.Pool{Workers: 3, Capacity: 8}},
		{Name: "other", Pool: &driver.Pool{Workers: 2, Capacity: 3}},
	} {
		if diff := cmp.Diff(want, sqltest.ReadQueue(t, engine, want.Name)); diff != "" {
			t.Errorf("%s: %s", want.Name, diff)
		}
	}
	f.Insert("mail", 3000)
	f.Exec("UPDATE solid_queue_ready_executions SET created_at = " + f.from(-2*time.Hour) + " WHERE id = 2501")
	sqltest.Near(t, "oldest", sqltest.ReadQueue(t, engine, "mail").Oldest, 2*time.Hour)
}

func TestSQLiteReadsByIndexes(t *testing.T) {
	db := sqltest.SQLite(t, filepath.Join(t.TempDir(), "jobs.db"))
	install(db)
	steps := sqltest.QueryPlan(db, sqlitePreset.Query)
	for _, table := range []string{"solid_queue_jobs", "job", "ready", "solid_queue_ready_executions", "claim"} {
		for _, step := range steps {
			if words := strings.Fields(step); len(words) > 1 && words[0] == "SCAN" && words[1] == table && !strings.Contains(step, "INDEX") {
				t.Errorf("reads all of a table: %s\n%s", step, strings.Join(steps, "\n"))
			}
		}
	}
	if !slices.ContainsFunc(steps, func(step string) bool { return strings.Contains(step, "index_solid_queue_dispatch_all") }) {
		t.Errorf("scheduled executions are not read in order:\n%s", strings.Join(steps, "\n"))
	}
}
