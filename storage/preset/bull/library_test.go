//go:build libraries

package bull_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/bull"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A library is a fixture that writes with Bull itself.
type library struct {
	tb     testing.TB
	server *storagetest.RedisServer
	node   *storagetest.Producer
	id     int
}

var _ storagetest.Fixture = (*library)(nil)

func newLibrary(tb testing.TB, server *storagetest.RedisServer) *library {
	tb.Helper()
	l := &library{tb: tb, server: server, node: storagetest.Node(tb, "bull")}
	l.id = storagetest.Call[int](tb, l.node, "open", map[string]any{"url": server.URL()})
	tb.Cleanup(func() { call[any](l, "close", "", nil) })
	return l
}

func call[T any](l *library, command, queue string, args map[string]any) T {
	l.tb.Helper()
	all := map[string]any{"id": l.id, "queue": queue}
	maps.Copy(all, args)
	return storagetest.Call[T](l.tb, l.node, command, all)
}

func (l *library) do(command, queue string, args map[string]any) {
	l.tb.Helper()
	call[any](l, command, queue, args)
}

// enqueue adds jobs with Bull's options for them and returns their ids.
func (l *library) enqueue(queue string, n int, job map[string]any) []any {
	l.tb.Helper()
	return call[[]any](l, "enqueue", queue, map[string]any{"n": n, "job": job})
}

// Insert implements storagetest.Fixture.
func (l *library) Insert(queue string, n int) {
	l.tb.Helper()
	l.enqueue(queue, n, nil)
}

// Schedule implements storagetest.Fixture.
func (l *library) Schedule(queue string, n int, in time.Duration) {
	l.tb.Helper()
	l.do("schedule", queue, map[string]any{"n": n, "after": in.Seconds()})
}

// Pause implements storagetest.Fixture.
func (l *library) Pause(queue string) {
	l.tb.Helper()
	l.do("pause", queue, nil)
}

// Run implements storagetest.Fixture.
func (l *library) Run(queue string, n int) {
	l.tb.Helper()
	l.enqueue(queue, n, nil)
	l.do("start", queue, map[string]any{"n": n})
}

// Orphan implements storagetest.Fixture. The suite does not use it: see abilities.
func (l *library) Orphan(queue string, n int, _ time.Duration) {
	l.tb.Helper()
	l.Run(queue, n)
	l.do("abandon", queue, nil)
}

// Fail implements storagetest.Fixture. Where the time is to have passed, it is written over.
func (l *library) Fail(queue string, n int, in time.Duration) {
	l.tb.Helper()
	l.Run(queue, n)
	after := in
	if in < 0 {
		after = 1000 * time.Hour
	}
	l.do("fail", queue, map[string]any{"after": after.Seconds()})
	if in >= 0 {
		return
	}
	key := "bull:" + queue + ":delayed"
	ids, err := l.server.Do(l.tb, "ZRANGEBYSCORE", key, score(500*time.Hour), "+inf").AsStrSlice()
	if err != nil || len(ids) != n {
		l.tb.Fatalf("of %d failed jobs %q are delayed (%v)", n, ids, err)
	}
	for _, id := range ids {
		l.server.Do(l.tb, "ZADD", key, "XX", score(in), id)
	}
}

// score is that of a job which is due after in.
func score(in time.Duration) string { return fmt.Sprint(time.Now().Add(in).UnixMilli() * 4096) }

// Snooze implements storagetest.Fixture. A job that wants to be run again later fails.
func (l *library) Snooze(queue string, n int, in time.Duration) {
	l.tb.Helper()
	l.Fail(queue, n, in)
}

// Cancel implements storagetest.Fixture.
func (l *library) Cancel(queue string, n int) {
	l.tb.Helper()
	l.do("cancel", queue, map[string]any{"jobs": l.enqueue(queue, n, nil)})
}

// Finish implements storagetest.Fixture.
func (l *library) Finish(queue string, n int) {
	l.tb.Helper()
	l.Run(queue, n)
	l.do("finish", queue, nil)
}

func TestBullItselfKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(bull.Preset.Redis, driver.RedisOptions{}, newLibrary, abilities))
}

func open(t *testing.T) (*library, *redis.Engine) {
	t.Helper()
	server := storagetest.StartRedis(t)
	return newLibrary(t, server), redistest.Open(t, bull.Preset.Redis, driver.RedisOptions{}, server.URL())
}

// agrees fails the test unless Bull says the same. What is due is delayed for Bull until a worker has promoted it, which it
// may have by now.
func agrees(t *testing.T, l *library, q driver.Queue) {
	t.Helper()
	theirs := call[struct {
		Counts map[string]int64
		Paused bool
	}](l, "report", q.Name, nil)
	type sums struct {
		wait, run int64
		paused    bool
	}
	want := sums{theirs.Counts["waiting"] + theirs.Counts["delayed"], theirs.Counts["active"], theirs.Paused}
	if got := (sums{q.Ready + q.Scheduled, q.Running, q.Paused}); got != want {
		t.Errorf("leadsman says %+v, Bull %+v", got, want)
	}
}

func TestLeadsmanCountsWhatBullCounts(t *testing.T) {
	l, engine := open(t)
	l.Finish("jobs", 2)
	l.Run("jobs", 1)
	l.do("fail", "jobs", nil) // for good
	l.Fail("jobs", 2, time.Hour)
	l.Run("jobs", 3)
	l.Insert("jobs", 4)
	l.enqueue("jobs", 2, map[string]any{"priority": 3})
	l.enqueue("jobs", 1, map[string]any{"lifo": true})
	l.Schedule("jobs", 5, 3*time.Hour)
	l.Schedule("jobs", 1, -2*time.Hour)
	got := expect(t, engine, driver.Queue{Name: "jobs", Known: true, Ready: 8, Running: 3, Scheduled: 7})
	redistest.Near(t, "oldest", got.Oldest, 2*time.Hour)
	redistest.Near(t, "next due", got.NextDue, time.Hour)
	agrees(t, l, got)
}

func TestBullPausesAndResumes(t *testing.T) {
	l, engine := open(t)
	l.Run("jobs", 1)
	l.Insert("jobs", 2)
	l.Pause("jobs")
	l.Insert("jobs", 4)
	l.Schedule("jobs", 1, time.Hour)
	agrees(t, l, expect(t, engine, driver.Queue{Name: "jobs", Known: true, Paused: true, Running: 1, Scheduled: 1}))
	l.do("resume", "jobs", nil)
	agrees(t, l, expect(t, engine, driver.Queue{Name: "jobs", Known: true, Ready: 6, Running: 1, Scheduled: 1}))
}

func TestTheJobsOfADeadWorkerCountUntilAnotherTakesThemUp(t *testing.T) {
	l, engine := open(t)
	l.Run("jobs", 2)
	l.do("abandon", "jobs", nil)
	expect(t, engine, driver.Queue{Name: "jobs", Known: true, Running: 2})
}

func TestTheNextRunOfARepeatableJobIsScheduled(t *testing.T) {
	l, engine := open(t)
	l.enqueue("jobs", 1, map[string]any{"repeat": map[string]any{"cron": "0 0 1 1 *"}})
	got := expect(t, engine, driver.Queue{Name: "jobs", Known: true, Scheduled: 1})
	if got.NextDue <= 0 || got.NextDue > 366*24*time.Hour {
		t.Errorf("next due = %s, want within a year", got.NextDue)
	}
}
