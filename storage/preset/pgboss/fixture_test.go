//go:build libraries

package pgboss_test

import (
	"maps"
	"regexp"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// The releases under test, by their names in test/libraries, from the oldest on.
const (
	release9    = "pg-boss-9"     // schema 20
	release10   = "pg-boss-10"    // 24
	release11   = "pg-boss-11"    // 26
	release1227 = "pg-boss-12.27" // 37
	newest      = "pg-boss"       // 46
)

// A fixture writes with pg-boss itself, of one release; where it has no call for what is to be, by SQL.
type fixture struct {
	t       testing.TB
	node    *storagetest.Producer
	db      *sqltest.DB
	release string
	id      int
	made    map[string]bool // queues
}

var _ storagetest.Fixture = (*fixture)(nil)

// newFixture makes the release's schema in the database.
func newFixture(db *sqltest.DB, release string) *fixture {
	db.TB().Helper()
	return newFixtureIn(db, release, "pgboss")
}

func newFixtureIn(db *sqltest.DB, release, schema string) *fixture {
	t := db.TB()
	t.Helper()
	f := &fixture{t: t, node: storagetest.Node(t, "pg-boss"), db: db, release: release, made: map[string]bool{}}
	f.id = storagetest.Call[int](t, f.node, "open", map[string]any{"release": release, "url": db.URL(), "schema": schema})
	t.Cleanup(func() { f.do("close", nil) })
	db.Exec("SET search_path = " + schema)
	return f
}

func (f *fixture) do(command string, args map[string]any) {
	f.t.Helper()
	storagetest.Call[any](f.t, f.node, command, f.with(args))
}

func (f *fixture) with(args map[string]any) map[string]any {
	all := map[string]any{"id": f.id}
	maps.Copy(all, args)
	return all
}

// create makes a queue with pg-boss's options, once.
func (f *fixture) create(queue string, options map[string]any) {
	f.t.Helper()
	if f.made[queue] {
		return
	}
	f.made[queue] = true
	f.do("create", map[string]any{"queue": queue, "options": options})
}

// add inserts jobs with pg-boss's options for them, into a queue that announces them where it can.
func (f *fixture) add(queue string, n int, job map[string]any) {
	f.t.Helper()
	f.create(queue, map[string]any{"notify": true})
	f.do("insert", map[string]any{"queue": queue, "n": n, "job": job})
}

// take claims n jobs and returns their ids.
func (f *fixture) take(queue string, n int, then string) []string {
	f.t.Helper()
	return storagetest.Call[[]string](f.t, f.node, "take", f.with(map[string]any{"queue": queue, "n": n, "then": then}))
}

// validName is what pg-boss 10 and later accept as a queue's name; the tables accept any.
var validName = regexp.MustCompile(`^[\w\-./]+$`)

// Insert implements storagetest.Fixture.
func (f *fixture) Insert(queue string, n int) {
	f.t.Helper()
	if f.release == release9 || validName.MatchString(queue) {
		f.add(queue, n, nil)
		return
	}
	f.db.Exec("SELECT create_queue($1, $2)", queue, `{"policy": "standard", "retryLimit": 2, "partition": false}`)
	f.db.Insert("job", n, map[string]any{"name": queue})
}

// Schedule implements storagetest.Fixture.
func (f *fixture) Schedule(queue string, n int, in time.Duration) {
	f.t.Helper()
	f.add(queue, n, map[string]any{"startAfter": time.Now().Add(in)})
}

// Pause implements storagetest.Fixture.
func (f *fixture) Pause(string) { f.t.Fatal("pg-boss cannot pause") }

// Run implements storagetest.Fixture.
func (f *fixture) Run(queue string, n int) {
	f.t.Helper()
	f.add(queue, n, nil)
	f.take(queue, n, "hold")
}

// column is the name of a column in this release's schema.
func (f *fixture) column(name string) string {
	if f.release == release9 {
		return map[string]string{"started_on": "startedon", "start_after": "startafter", "retry_limit": "retrylimit"}[name]
	}
	return name
}

// Orphan implements storagetest.Fixture: the jobs are claimed in truth, and then their claim is made old.
func (f *fixture) Orphan(queue string, n int, age time.Duration) {
	f.t.Helper()
	f.add(queue, n, nil)
	ids := f.take(queue, n, "hold")
	f.db.Exec("UPDATE job SET "+f.column("started_on")+" = now() - $1::float8 * interval '1 second' WHERE id = ANY ($2::text[]::uuid[])",
		age.Seconds(), ids)
}

// Fail implements storagetest.Fixture.
func (f *fixture) Fail(queue string, n int, in time.Duration) {
	f.t.Helper()
	f.add(queue, n, map[string]any{"retryLimit": 3, "retryDelay": max(0, int(in.Seconds()))})
	ids := f.take(queue, n, "fail")
	if in < 0 {
		f.db.Exec("UPDATE job SET "+f.column("start_after")+" = now() + $1::float8 * interval '1 second' WHERE id = ANY ($2::text[]::uuid[])",
			in.Seconds(), ids)
	}
}

// Snooze implements storagetest.Fixture. A job that wants to be run again later fails.
func (f *fixture) Snooze(queue string, n int, in time.Duration) {
	f.t.Helper()
	f.Fail(queue, n, in)
}

// Cancel implements storagetest.Fixture.
func (f *fixture) Cancel(queue string, n int) {
	f.t.Helper()
	f.add(queue, n, nil)
	f.do("cancel", map[string]any{"queue": queue, "jobs": f.take(queue, n, "hold")})
}

// Finish implements storagetest.Fixture.
func (f *fixture) Finish(queue string, n int) {
	f.t.Helper()
	f.add(queue, n, nil)
	f.take(queue, n, "complete")
}
