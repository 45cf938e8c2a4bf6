package delayedjob_test

import (
	"maps"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// A fixture writes what Delayed Job writes, to the table that its migration makes.
type fixture struct{ db *sqltest.DB }

const postgresTable = `CREATE TABLE delayed_jobs (
	id bigserial PRIMARY KEY, priority integer NOT NULL DEFAULT 0, attempts integer NOT NULL DEFAULT 0,
	handler text NOT NULL, last_error text, run_at timestamp(6), locked_at timestamp(6), failed_at timestamp(6),
	locked_by character varying, queue character varying, created_at timestamp(6), updated_at timestamp(6))`

const sqliteTable = `CREATE TABLE delayed_jobs (
	id integer PRIMARY KEY AUTOINCREMENT NOT NULL, priority integer NOT NULL DEFAULT 0, attempts integer NOT NULL DEFAULT 0,
	handler text NOT NULL, last_error text, run_at datetime(6), locked_at datetime(6), failed_at datetime(6),
	locked_by varchar, queue varchar, created_at datetime(6), updated_at datetime(6))`

const onlyIndex = `CREATE INDEX delayed_jobs_priority ON delayed_jobs (priority, run_at)`

func newFixture(db *sqltest.DB) fixture {
	table := postgresTable
	if db.IsSQLite() {
		table = sqliteTable
	}
	db.Exec(table)
	db.Exec(onlyIndex)
	return fixture{db}
}

// at is a time as Active Record stores it.
func (f fixture) at(t time.Time) any {
	if f.db.IsSQLite() {
		return t.UTC().Format("2006-01-02 15:04:05.000000")
	}
	return t.UTC() // a timestamp without zone takes the digits
}

func (f fixture) after(d time.Duration) any { return f.at(time.Now().Add(d)) }

// add adds n jobs that were due after in, with other columns as given.
func (f fixture) add(queue any, n int, in time.Duration, other map[string]any) {
	f.db.TB().Helper()
	row := map[string]any{
		"queue": queue, "handler": "--- !ruby/object:Job {}\n", "priority": sqltest.Expr("i % 3"),
		"run_at": f.after(in), "created_at": f.after(0), "updated_at": f.after(0),
	}
	maps.Copy(row, other)
	f.db.Insert("delayed_jobs", n, row)
}

func (f fixture) Insert(queue string, n int) { f.add(queue, n, 0, nil) }

func (f fixture) Schedule(queue string, n int, in time.Duration) { f.add(queue, n, in, nil) }

func (f fixture) Pause(string) { f.db.TB().Fatal("Delayed Job cannot pause") }

func (f fixture) Run(queue string, n int) { f.Orphan(queue, n, 0) }

func (f fixture) Orphan(queue string, n int, age time.Duration) {
	f.add(queue, n, -age, map[string]any{"locked_at": f.after(-age), "locked_by": "host:web-1 pid:7"})
}

func (f fixture) Fail(queue string, n int, in time.Duration) {
	f.add(queue, n, in, map[string]any{"attempts": 1, "last_error": "on purpose"})
}

func (f fixture) Snooze(queue string, n int, in time.Duration) { f.Schedule(queue, n, in) }

func (f fixture) Cancel(queue string, n int) { f.Finish(queue, n) }

func (f fixture) Finish(queue string, n int) {
	f.Run(queue, n)
	f.db.Exec("DELETE FROM delayed_jobs WHERE queue = $1 AND locked_at IS NOT NULL", queue)
}
