package goodjob_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

//go:embed testdata/schema.sql
var schema40SQL string

//go:embed testdata/schema_4_19.sql
var schema419SQL string

// A fixture writes jobs as GoodJob does. Times are UTC without a zone.
type fixture struct{ *sqltest.DB }

var _ storagetest.Fixture = fixture{}

func install(db *sqltest.DB) fixture {
	f := install40(db)
	db.Exec(schema419SQL)
	return f
}

// install40 makes the tables of GoodJob 4.0.
func install40(db *sqltest.DB) fixture {
	db.Exec(schema40SQL)
	return fixture{db}
}

// from is a time some time from now.
func from(d time.Duration) sqltest.Expr {
	return sqltest.Expr(fmt.Sprintf("now() AT TIME ZONE 'utc' + interval '%f seconds'", d.Seconds()))
}

// add inserts n jobs, spread over some priorities.
func (f fixture) add(queue string, n int, columns map[string]any) {
	f.TB().Helper()
	row := map[string]any{
		"queue_name": queue, "job_class": "Job", "priority": sqltest.Expr("i % 3"),
		"created_at": from(0), "updated_at": from(0), "scheduled_at": from(0),
	}
	maps.Copy(row, columns)
	f.DB.Insert("good_jobs", n, row)
}

// notify announces as GoodJob does after each enqueue.
func (f fixture) notify(queue string, in time.Duration) {
	f.TB().Helper()
	payload, err := json.Marshal(map[string]any{"queue_name": queue, "scheduled_at": time.Now().Add(in), "count": 1})
	if err != nil {
		f.TB().Fatal(err)
	}
	f.Exec("SELECT pg_notify('good_job', $1)", string(payload))
}

// Insert implements storagetest.Fixture.
func (f fixture) Insert(queue string, n int) {
	f.TB().Helper()
	f.Schedule(queue, n, 0)
}

// Schedule implements storagetest.Fixture.
func (f fixture) Schedule(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.add(queue, n, map[string]any{"scheduled_at": from(in)})
	f.notify(queue, in)
}

// Pause implements storagetest.Fixture.
func (f fixture) Pause(queue string) { f.pause("queues", queue) }

// pause adds a name to what is paused of a kind.
func (f fixture) pause(kind, name string) {
	f.TB().Helper()
	f.Exec(`INSERT INTO good_job_settings (key, value, created_at, updated_at)
		VALUES ('pauses', '{"queues": [], "job_classes": [], "labels": []}', now(), now()) ON CONFLICT (key) DO NOTHING`)
	f.Exec(`UPDATE good_job_settings SET value = jsonb_set(value, ARRAY[$1::text], value -> $1::text || to_jsonb($2::text))
		WHERE key = 'pauses'`, kind, name)
}

// process registers a process that last beat some time ago.
func (f fixture) process(state string, beat time.Duration) {
	f.TB().Helper()
	f.DB.Insert("good_job_processes", 1, map[string]any{"state": state, "created_at": from(-beat), "updated_at": from(-beat)})
}

// Run implements storagetest.Fixture.
func (f fixture) Run(queue string, n int) {
	f.TB().Helper()
	f.Orphan(queue, n, 0)
}

// Orphan implements storagetest.Fixture: the jobs are locked by a process that beat for the last time some time ago.
func (f fixture) Orphan(queue string, n int, age time.Duration) {
	f.TB().Helper()
	f.process(`{"schedulers": [{"queues": "nothing", "max_threads": 5}]}`, age)
	f.add(queue, n, map[string]any{
		"scheduled_at": from(-age - time.Second), "performed_at": from(-age), "locked_at": from(-age),
		"locked_by_id": sqltest.Expr("(SELECT id FROM good_job_processes ORDER BY ctid DESC LIMIT 1)"),
	})
}

// Fail implements storagetest.Fixture. A failed job goes back into its row, to be performed anew.
func (f fixture) Fail(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.add(queue, n, map[string]any{"scheduled_at": from(in), "error": "failed", "executions_count": 1})
	f.notify(queue, in)
}

// Snooze implements storagetest.Fixture.
func (f fixture) Snooze(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.Fail(queue, n, in)
}

// Cancel implements storagetest.Fixture. A job that is discarded is finished, with an error.
func (f fixture) Cancel(queue string, n int) {
	f.TB().Helper()
	f.add(queue, n, map[string]any{"finished_at": from(0), "error": "discarded"})
}

// Finish implements storagetest.Fixture.
func (f fixture) Finish(queue string, n int) {
	f.TB().Helper()
	f.add(queue, n, map[string]any{"performed_at": from(0), "finished_at": from(0)})
}
