package flexiq_test

import (
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// A fixture writes what FlexiQ writes, to the tables that its migrations up to 0027 make: the columns that are read and
// those that must be filled.
type fixture struct {
	db    *sqltest.DB
	batch atomic.Int64
}

const (
	jobColumns = `id text PRIMARY KEY, queue text NOT NULL DEFAULT 'default', task_name text NOT NULL,
		status integer NOT NULL DEFAULT 0, priority integer NOT NULL DEFAULT 0, created_at bigint NOT NULL,
		scheduled_at bigint NOT NULL, started_at bigint, completed_at bigint, retry_count integer NOT NULL DEFAULT 0,
		expires_at bigint, namespace text, has_deps boolean NOT NULL DEFAULT false`
	schema = `CREATE TABLE jobs (` + jobColumns + `);
		CREATE INDEX idx_jobs_dequeue ON jobs (queue, status, priority DESC, scheduled_at);
		CREATE INDEX idx_jobs_namespace ON jobs (namespace) WHERE namespace IS NOT NULL;
		CREATE INDEX idx_jobs_namespace_status ON jobs (namespace, status);
		CREATE TABLE archived_jobs (` + jobColumns + `);
		CREATE INDEX idx_archived_jobs_queue_status ON archived_jobs (queue, status);
		CREATE TABLE job_dependencies (id text PRIMARY KEY, job_id text NOT NULL, depends_on_job_id text NOT NULL);
		CREATE INDEX idx_job_deps_job_id ON job_dependencies (job_id);
		CREATE TABLE execution_claims (job_id text PRIMARY KEY, worker_id text NOT NULL, claimed_at bigint NOT NULL);
		CREATE TABLE queue_state (queue_name text NOT NULL, paused boolean NOT NULL DEFAULT false, paused_at bigint, namespace text);
		CREATE TABLE workers (worker_id text PRIMARY KEY, last_heartbeat bigint NOT NULL, queues text NOT NULL DEFAULT 'default',
			status text NOT NULL DEFAULT 'active', threads integer NOT NULL DEFAULT 0, namespace text)`
	// FlexiQ makes a schema of its own.
	ownSchema = `DO $$ BEGIN IF current_schema() = 'public' THEN
		CREATE SCHEMA flexiq; PERFORM set_config('search_path', 'flexiq', false); END IF; END $$`
)

// What status means.
const (
	pending = iota
	running
	complete
)

func newFixture(db *sqltest.DB) *fixture {
	if !db.IsSQLite() {
		db.Exec(ownSchema)
	}
	db.Exec(schema)
	return &fixture{db: db}
}

func after(d time.Duration) int64 { return time.Now().Add(d).UnixMilli() }

// add adds n jobs, scheduled after in, with other columns as given, and returns what their ids begin with; the rest is
// the number from 1 on.
func (f *fixture) add(table, queue string, n int, in time.Duration, other map[string]any) string {
	f.db.TB().Helper()
	id := fmt.Sprintf("job-%d-", f.batch.Add(1))
	row := map[string]any{
		"id": sqltest.Expr("'" + id + "' || i"), "queue": queue, "task_name": "mail", "status": pending,
		"priority": sqltest.Expr("i % 3"), "created_at": after(0), "scheduled_at": after(in),
	}
	maps.Copy(row, other)
	f.db.Insert(table, n, row)
	return id
}

// work adds n jobs that a worker took in hand age ago, and the worker, whose last heartbeat is as old.
func (f *fixture) work(queue string, n int, age time.Duration, threads int) {
	f.db.TB().Helper()
	id := f.add("jobs", queue, n, -age, map[string]any{"status": running, "started_at": after(-age)})
	f.db.Insert("execution_claims", n, map[string]any{
		"job_id": sqltest.Expr("'" + id + "' || i"), "worker_id": "worker-" + id, "claimed_at": after(-age),
	})
	f.db.Insert("workers", 1, map[string]any{
		"worker_id": "worker-" + id, "last_heartbeat": after(-age), "queues": "other," + queue, "threads": threads,
	})
}

func (f *fixture) Insert(queue string, n int) { f.add("jobs", queue, n, 0, nil) }

func (f *fixture) Schedule(queue string, n int, in time.Duration) { f.add("jobs", queue, n, in, nil) }

func (f *fixture) Pause(queue string) { f.pause(queue, nil) }

func (f *fixture) pause(queue string, namespace any) {
	f.db.Insert("queue_state", 1, map[string]any{
		"queue_name": queue, "paused": true, "paused_at": after(0), "namespace": namespace,
	})
}

func (f *fixture) Run(queue string, n int) { f.work(queue, n, 0, n) }

func (f *fixture) Orphan(queue string, n int, age time.Duration) { f.work(queue, n, age, n) }

func (f *fixture) Fail(queue string, n int, in time.Duration) {
	f.add("jobs", queue, n, in, map[string]any{"retry_count": 1, "started_at": after(-time.Minute)})
}

func (f *fixture) Snooze(queue string, n int, in time.Duration) { f.Fail(queue, n, in) }

func (f *fixture) Cancel(queue string, n int) {
	f.add("archived_jobs", queue, n, 0, map[string]any{"status": 5, "completed_at": after(0)})
}

func (f *fixture) Finish(queue string, n int) {
	f.add("archived_jobs", queue, n, 0, map[string]any{"status": complete, "completed_at": after(0)})
}
