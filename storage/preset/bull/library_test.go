//go:build libraries

package bull_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/bull"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/bulltest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func newLibrary(tb testing.TB, server *storagetest.RedisServer) bulltest.Library {
	tb.Helper()
	return bulltest.Open(tb, server, "bull", nil)
}

func TestBullItselfKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(bull.Preset.Redis, driver.RedisOptions{}, newLibrary, abilities))
}

func open(t *testing.T) (bulltest.Library, *redis.Engine) {
	t.Helper()
	return redistest.Start(t, bull.Preset.Redis, driver.RedisOptions{}, newLibrary)
}

// agrees fails the test unless Bull says the same. What is due is delayed for Bull until a worker has promoted it, which it
// may have by now.
func agrees(t *testing.T, l bulltest.Library, q driver.Queue) {
	t.Helper()
	theirs := l.Report(q.Name)
	type sums struct {
		wait, run int64
		paused    bool
	}
	n := func(state string) int64 { return int64(theirs.Counts[state]) }
	want := sums{n("waiting") + n("delayed"), n("active"), theirs.Paused}
	if got := (sums{q.Ready + q.Scheduled, q.Running, q.Paused}); got != want {
		t.Errorf("leadsman says %+v, Bull %+v", got, want)
	}
}

func TestLeadsmanCountsWhatBullCounts(t *testing.T) {
	l, engine := open(t)
	l.Finish("jobs", 2)
	l.Run("jobs", 1)
	l.FailForGood("jobs") // for good
	l.Fail("jobs", 2, time.Hour)
	l.Run("jobs", 3)
	l.Insert("jobs", 4)
	l.Enqueue("jobs", 2, map[string]any{"priority": 3})
	l.Enqueue("jobs", 1, map[string]any{"lifo": true})
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
	l.Resume("jobs")
	agrees(t, l, expect(t, engine, driver.Queue{Name: "jobs", Known: true, Ready: 6, Running: 1, Scheduled: 1}))
}

func TestTheJobsOfADeadWorkerCountUntilAnotherTakesThemUp(t *testing.T) {
	l, engine := open(t)
	l.Run("jobs", 2)
	l.Abandon("jobs")
	expect(t, engine, driver.Queue{Name: "jobs", Known: true, Running: 2})
}

func TestTheNextRunOfARepeatableJobIsScheduled(t *testing.T) {
	l, engine := open(t)
	l.Enqueue("jobs", 1, map[string]any{"repeat": map[string]any{"cron": "0 0 1 1 *"}})
	got := expect(t, engine, driver.Queue{Name: "jobs", Known: true, Scheduled: 1})
	if got.NextDue <= 0 || got.NextDue > 366*24*time.Hour {
		t.Errorf("next due = %s, want within a year", got.NextDue)
	}
}
