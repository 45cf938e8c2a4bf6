//go:build libraries

package graphileworker_test

import (
	"maps"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// A fixture writes with Graphile Worker itself, of one release; where it has no call for what is to be, by SQL.
type fixture struct {
	t      testing.TB
	node   *storagetest.Producer
	db     *sqltest.DB
	schema string
	id     int
}

var _ storagetest.Fixture = (*fixture)(nil)

// newFixture migrates the database to the release's newest schema.
func newFixture(db *sqltest.DB, release, schema string) *fixture {
	t := db.TB()
	t.Helper()
	f := &fixture{t: t, node: storagetest.Node(t, "graphile-worker"), db: db, schema: schema}
	f.id = storagetest.Call[int](t, f.node, "open", map[string]any{"release": release, "url": db.URL(), "schema": schema})
	t.Cleanup(func() { f.call("close", nil) })
	return f
}

func (f *fixture) call(command string, args map[string]any) []string {
	f.t.Helper()
	all := map[string]any{"id": f.id}
	maps.Copy(all, args)
	if command != "add" {
		storagetest.Call[any](f.t, f.node, command, all)
		return nil
	}
	return storagetest.Call[[]string](f.t, f.node, command, all)
}

// add enqueues jobs with the options of Graphile Worker's addJob and returns their ids.
func (f *fixture) add(task string, n int, spec map[string]any) []string {
	f.t.Helper()
	return f.call("add", map[string]any{"task": task, "n": n, "spec": spec})
}

func (f *fixture) work(task string, n int, mode string) {
	f.t.Helper()
	f.call("work", map[string]any{"task": task, "n": n, "mode": mode})
}

// Insert implements storagetest.Fixture. Many at once go through Graphile Worker's SQL function.
func (f *fixture) Insert(task string, n int) {
	f.t.Helper()
	if n < 50 {
		f.add(task, n, nil)
		return
	}
	f.db.Exec("SELECT "+f.schema+".add_job($1) FROM generate_series(1, $2::int)", task, n)
}

// Schedule implements storagetest.Fixture.
func (f *fixture) Schedule(task string, n int, in time.Duration) {
	f.t.Helper()
	f.add(task, n, map[string]any{"runAt": time.Now().Add(in)})
}

// Pause implements storagetest.Fixture.
func (f *fixture) Pause(string) { f.t.Fatal("Graphile Worker cannot pause") }

// Run implements storagetest.Fixture.
func (f *fixture) Run(task string, n int) {
	f.t.Helper()
	f.add(task, n, nil)
	f.work(task, n, "hold")
}

// Orphan implements storagetest.Fixture: the jobs are claimed in truth, and then their lock is made old.
func (f *fixture) Orphan(task string, n int, age time.Duration) {
	f.t.Helper()
	ids := f.add(task, n, nil)
	f.work(task, n, "hold")
	f.db.Exec("UPDATE "+f.schema+"._private_jobs SET locked_at = now() - $1::float8 * interval '1 second' WHERE id = ANY ($2::text[]::bigint[])", age.Seconds(), ids)
}

// Fail implements storagetest.Fixture.
func (f *fixture) Fail(task string, n int, in time.Duration) {
	f.t.Helper()
	ids := f.add(task, n, nil)
	f.work(task, n, "fail")
	f.call("reschedule", map[string]any{"jobs": ids, "runAt": time.Now().Add(in)})
}

// Snooze implements storagetest.Fixture. A task that wants to be run again later fails, and is rescheduled.
func (f *fixture) Snooze(task string, n int, in time.Duration) {
	f.t.Helper()
	f.Fail(task, n, in)
}

// Cancel implements storagetest.Fixture.
func (f *fixture) Cancel(task string, n int) {
	f.t.Helper()
	f.call("giveUp", map[string]any{"jobs": f.add(task, n, nil)})
}

// Finish implements storagetest.Fixture.
func (f *fixture) Finish(task string, n int) {
	f.t.Helper()
	f.add(task, n, nil)
	f.work(task, n, "finish")
}
