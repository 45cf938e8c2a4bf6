package laravel_test

import (
	"maps"
	"math"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// A fixture writes what Laravel's DatabaseQueue writes, to the table that `artisan make:queue-table` makes.
type fixture struct{ db *sqltest.DB }

const postgresTable = `CREATE TABLE jobs (
	id bigserial PRIMARY KEY, queue character varying(255) NOT NULL, payload text NOT NULL, attempts smallint NOT NULL,
	reserved_at integer, available_at integer NOT NULL, created_at integer NOT NULL)`

const sqliteTable = `CREATE TABLE jobs (
	id integer PRIMARY KEY AUTOINCREMENT NOT NULL, queue varchar NOT NULL, payload text NOT NULL, attempts integer NOT NULL,
	reserved_at integer, available_at integer NOT NULL, created_at integer NOT NULL)`

func newFixture(db *sqltest.DB) fixture {
	table := postgresTable
	if db.IsSQLite() {
		table = sqliteTable
	}
	db.Exec(table)
	db.Exec("CREATE INDEX jobs_queue_index ON jobs (queue)")
	return fixture{db}
}

// after is a time in epoch seconds, rounded up so that nothing is due early.
func after(d time.Duration) int64 {
	if d <= 0 {
		return time.Now().Add(d).Unix()
	}
	return int64(math.Ceil(float64(time.Now().Add(d).UnixMilli()) / 1000))
}

// add adds n jobs that are available after in, with other columns as given.
func (f fixture) add(queue string, n int, in time.Duration, other map[string]any) {
	f.db.TB().Helper()
	row := map[string]any{
		"queue": queue, "payload": `{"displayName":"App\\Jobs\\Mail"}`, "attempts": 0,
		"available_at": after(in), "created_at": after(0),
	}
	maps.Copy(row, other)
	f.db.Insert("jobs", n, row)
}

func (f fixture) Insert(queue string, n int) { f.add(queue, n, 0, nil) }

func (f fixture) Schedule(queue string, n int, in time.Duration) { f.add(queue, n, in, nil) }

func (f fixture) Pause(string) { f.db.TB().Fatal("no pause of Laravel's is in the database") }

func (f fixture) Run(queue string, n int) { f.Orphan(queue, n, 0) }

func (f fixture) Orphan(queue string, n int, age time.Duration) {
	f.add(queue, n, -age, map[string]any{"reserved_at": after(-age), "attempts": 1})
}

func (f fixture) Fail(queue string, n int, in time.Duration) {
	f.add(queue, n, in, map[string]any{"attempts": 1})
}

func (f fixture) Snooze(queue string, n int, in time.Duration) { f.Fail(queue, n, in) }

func (f fixture) Cancel(queue string, n int) { f.Finish(queue, n) }

func (f fixture) Finish(queue string, n int) {
	f.Run(queue, n)
	f.db.Exec("DELETE FROM jobs WHERE queue = $1 AND reserved_at IS NOT NULL", queue)
}
