package oban_test

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
var schemaSQL string

// later are the migrations after 9 as far as they change what jobs pass through.
var later = map[int]string{
	10: `ALTER TABLE oban_jobs ALTER priority SET NOT NULL, ADD CONSTRAINT priority_range CHECK (priority BETWEEN 0 AND 3),
	     ADD CONSTRAINT attempt_range CHECK (attempt BETWEEN 0 AND max_attempts)`,
	11: `CREATE UNLOGGED TABLE oban_peers (
	       name text PRIMARY KEY, node text NOT NULL, started_at timestamp NOT NULL, expires_at timestamp NOT NULL)`,
	12: `ALTER TABLE oban_jobs DROP CONSTRAINT priority_range, ADD CONSTRAINT non_negative_priority CHECK (priority >= 0)`,
	13: `CREATE INDEX ON oban_jobs (state, cancelled_at); CREATE INDEX ON oban_jobs (state, discarded_at)`,
	14: `ALTER TYPE oban_job_state ADD VALUE 'suspended' BEFORE 'scheduled'`,
}

const newest = 14

// A fixture writes jobs as Oban does. Times are UTC without a zone.
type fixture struct{ *sqltest.DB }

var _ storagetest.Fixture = fixture{}

func install(db *sqltest.DB) fixture { return installVersion(db, newest) }

func installVersion(db *sqltest.DB, version int) fixture {
	db.Exec(schemaSQL)
	for v := 10; v <= version; v++ {
		db.Exec(later[v])
		db.Exec(fmt.Sprintf("COMMENT ON TABLE oban_jobs IS '%d'", v))
	}
	return fixture{db}
}

const now sqltest.Expr = "timezone('UTC', now())"

// from is a time some time from now.
func from(d time.Duration) sqltest.Expr {
	return now + sqltest.Expr(fmt.Sprintf(" + interval '%f seconds'", d.Seconds()))
}

// add inserts n jobs, spread over the priorities 0 to 9.
func (f fixture) add(queue string, n int, state string, columns map[string]any) {
	f.TB().Helper()
	row := map[string]any{"queue": queue, "worker": "Worker", "priority": sqltest.Expr("i % 10"), "state": state}
	maps.Copy(row, columns)
	f.DB.Insert("oban_jobs", n, row)
}

// Insert implements storagetest.Fixture. Oban announces after it has inserted.
func (f fixture) Insert(queue string, n int) {
	f.TB().Helper()
	f.add(queue, n, "available", nil)
	payload, err := json.Marshal(map[string]string{"queue": queue})
	if err != nil {
		f.TB().Fatal(err)
	}
	f.notify(string(payload))
}

func (f fixture) notify(payload string) {
	f.TB().Helper()
	f.Exec("SELECT pg_notify(current_schema() || '.oban_insert', $1)", payload)
}

// Schedule implements storagetest.Fixture.
func (f fixture) Schedule(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.add(queue, n, "scheduled", map[string]any{"scheduled_at": from(in)})
}

// Pause implements storagetest.Fixture; what is paused stands in the memory of Oban's nodes only.
func (f fixture) Pause(string) { f.TB().Fatal("Oban stores no pauses") }

// Run implements storagetest.Fixture.
func (f fixture) Run(queue string, n int) {
	f.TB().Helper()
	f.Orphan(queue, n, 0)
}

// Orphan implements storagetest.Fixture.
func (f fixture) Orphan(queue string, n int, age time.Duration) {
	f.TB().Helper()
	f.add(queue, n, "executing", map[string]any{"attempt": 1, "scheduled_at": from(-age), "attempted_at": from(-age)})
}

// Fail implements storagetest.Fixture.
func (f fixture) Fail(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.add(queue, n, "retryable", map[string]any{"attempt": 1, "scheduled_at": from(in), "attempted_at": now})
}

// Snooze implements storagetest.Fixture.
func (f fixture) Snooze(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.add(queue, n, "scheduled", map[string]any{"attempt": 1, "scheduled_at": from(in), "attempted_at": now})
}

// Cancel implements storagetest.Fixture.
func (f fixture) Cancel(queue string, n int) {
	f.TB().Helper()
	f.add(queue, n, "cancelled", map[string]any{"cancelled_at": now})
}

// Finish implements storagetest.Fixture.
func (f fixture) Finish(queue string, n int) {
	f.TB().Helper()
	f.add(queue, n, "completed", map[string]any{"attempt": 1, "attempted_at": now, "completed_at": now})
}
