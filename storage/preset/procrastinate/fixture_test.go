package procrastinate_test

import (
	_ "embed"
	"fmt"
	"maps"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

//go:embed testdata/schema.sql
var schemaSQL string

// schema310 is what 3.10 added.
const schema310 = `
	CREATE TYPE procrastinate_lock_mode AS ENUM ('ordered', 'mutex');
	ALTER TABLE procrastinate_jobs ADD lock_mode procrastinate_lock_mode NOT NULL DEFAULT 'ordered', ADD deferred_at timestamptz DEFAULT now();
	CREATE TABLE procrastinate_paused_queues (
	  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, queue_name varchar(128) NOT NULL,
	  pause_key varchar(128) NOT NULL DEFAULT 'default', paused_at timestamptz NOT NULL DEFAULT now(), UNIQUE (queue_name, pause_key))`

// A fixture writes jobs as Procrastinate does.
type fixture struct{ *sqltest.DB }

var _ storagetest.Fixture = fixture{}

// install makes the tables of 3.10.
func install(db *sqltest.DB) fixture {
	f := install39(db)
	db.Exec(schema310)
	return f
}

func install39(db *sqltest.DB) fixture {
	db.Exec(schemaSQL)
	return fixture{db}
}

// from is a time some time from now.
func from(d time.Duration) sqltest.Expr {
	return sqltest.Expr(fmt.Sprintf("now() + interval '%f seconds'", d.Seconds()))
}

func (f fixture) add(queue string, n int, columns map[string]any) {
	f.TB().Helper()
	row := map[string]any{"queue_name": queue, "task_name": "task", "priority": sqltest.Expr("i % 3")}
	maps.Copy(row, columns)
	f.DB.Insert("procrastinate_jobs", n, row)
}

// Insert implements storagetest.Fixture.
func (f fixture) Insert(queue string, n int) {
	f.TB().Helper()
	f.add(queue, n, nil)
}

// Schedule implements storagetest.Fixture.
func (f fixture) Schedule(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.add(queue, n, map[string]any{"scheduled_at": from(in)})
}

// Pause implements storagetest.Fixture.
func (f fixture) Pause(queue string) {
	f.TB().Helper()
	f.DB.Insert("procrastinate_paused_queues", 1, map[string]any{"queue_name": queue})
}

// Run implements storagetest.Fixture.
func (f fixture) Run(queue string, n int) {
	f.TB().Helper()
	f.Orphan(queue, n, 0)
}

// Orphan implements storagetest.Fixture: the worker's last beat was age ago.
func (f fixture) Orphan(queue string, n int, age time.Duration) {
	f.TB().Helper()
	f.DB.Insert("procrastinate_workers", 1, map[string]any{"last_heartbeat": from(-age)})
	f.add(queue, n, map[string]any{"status": "doing", "worker_id": sqltest.Expr("(SELECT max(id) FROM procrastinate_workers)")})
}

// Fail implements storagetest.Fixture.
func (f fixture) Fail(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.add(queue, n, map[string]any{"scheduled_at": from(in), "attempts": 1})
}

// Snooze implements storagetest.Fixture.
func (f fixture) Snooze(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.Fail(queue, n, in)
}

// Cancel implements storagetest.Fixture.
func (f fixture) Cancel(queue string, n int) {
	f.TB().Helper()
	f.add(queue, n, map[string]any{"status": "cancelled"})
}

// Finish implements storagetest.Fixture.
func (f fixture) Finish(queue string, n int) {
	f.TB().Helper()
	f.add(queue, n, map[string]any{"status": "succeeded", "attempts": 1})
}
