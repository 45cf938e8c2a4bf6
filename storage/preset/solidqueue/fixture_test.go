package solidqueue_test

import (
	"crypto/rand"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

//go:embed testdata/schema.sql
var schemaSQL string

// A fixture writes jobs as Solid Queue does: a row of jobs, and one in the table of the job's state. Times are UTC without
// a zone, and text in SQLite.
type fixture struct{ *sqltest.DB }

var _ storagetest.Fixture = fixture{}

func install(db *sqltest.DB) fixture {
	schema := schemaSQL
	if db.IsSQLite() {
		schema = strings.NewReplacer("bigserial PRIMARY KEY", "integer PRIMARY KEY AUTOINCREMENT", "timestamp(6)", "datetime(6)").Replace(schema)
	}
	db.Exec(schema)
	return fixture{db}
}

// from is a time some time from now.
func (f fixture) from(d time.Duration) string {
	if f.IsSQLite() {
		return fmt.Sprintf("strftime('%%F %%R:%%f', 'now', '%+f seconds') || '000'", d.Seconds())
	}
	return fmt.Sprintf("(now() AT TIME ZONE 'utc' + interval '%f seconds')", d.Seconds())
}

// add inserts n jobs with three priorities, and a row in another table for each: into names that and its columns, values
// what they hold, which may use the columns of jobs.
func (f fixture) add(queue string, n int, into, values string) {
	f.TB().Helper()
	class := "Job" + rand.Text() // to find them again
	f.DB.Insert("solid_queue_jobs", n, map[string]any{
		"queue_name": queue, "class_name": class, "priority": sqltest.Expr("i % 3"),
		"created_at": sqltest.Expr(f.from(0)), "updated_at": sqltest.Expr(f.from(0)),
	})
	f.Exec("INSERT INTO solid_queue_"+into+" SELECT "+values+" FROM solid_queue_jobs WHERE class_name = $1", class)
}

// Insert implements storagetest.Fixture.
func (f fixture) Insert(queue string, n int) {
	f.TB().Helper()
	f.add(queue, n, "ready_executions (job_id, queue_name, priority, created_at)", "id, queue_name, priority, created_at")
}

// Schedule implements storagetest.Fixture.
func (f fixture) Schedule(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.add(queue, n, "scheduled_executions (job_id, queue_name, priority, scheduled_at, created_at)",
		"id, queue_name, priority, "+f.from(in)+", created_at")
}

// Pause implements storagetest.Fixture.
func (f fixture) Pause(queue string) {
	f.TB().Helper()
	f.Exec("INSERT INTO solid_queue_pauses (queue_name, created_at) VALUES ($1, "+f.from(0)+")", queue)
}

// worker registers a worker that last beat some time ago.
func (f fixture) worker(metadata string, beat time.Duration) {
	f.TB().Helper()
	f.Exec(`INSERT INTO solid_queue_processes (kind, name, pid, metadata, last_heartbeat_at, created_at)
		VALUES ('Worker', 'worker', 1, $1, `+f.from(-beat)+", "+f.from(-beat)+")", metadata)
}

// Run implements storagetest.Fixture.
func (f fixture) Run(queue string, n int) {
	f.TB().Helper()
	f.Orphan(queue, n, 0)
}

// Orphan implements storagetest.Fixture: the claims are of a worker that beat for the last time some time ago.
func (f fixture) Orphan(queue string, n int, age time.Duration) {
	f.TB().Helper()
	f.worker(`{"queues":"nothing","thread_pool_size":3}`, age)
	f.add(queue, n, "claimed_executions (job_id, process_id, created_at)",
		"id, (SELECT max(id) FROM solid_queue_processes), "+f.from(-age))
}

// Fail implements storagetest.Fixture. Solid Queue keeps failed jobs until somebody retries them; Active Job's retry_on is
// what enqueues another.
func (f fixture) Fail(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.add(queue, n, "failed_executions (job_id, error, created_at)", "id, '{}', created_at")
	f.Schedule(queue, n, in)
}

// Snooze implements storagetest.Fixture.
func (f fixture) Snooze(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.Schedule(queue, n, in)
}

// Cancel implements storagetest.Fixture. Discarding a job deletes it; that its queue is known is due to others.
func (f fixture) Cancel(queue string, n int) {
	f.TB().Helper()
	f.Finish(queue, n)
}

// Finish implements storagetest.Fixture.
func (f fixture) Finish(queue string, n int) {
	f.TB().Helper()
	f.DB.Insert("solid_queue_jobs", n, map[string]any{
		"queue_name": queue, "class_name": "Job",
		"created_at": sqltest.Expr(f.from(0)), "updated_at": sqltest.Expr(f.from(0)), "finished_at": sqltest.Expr(f.from(0)),
	})
}
