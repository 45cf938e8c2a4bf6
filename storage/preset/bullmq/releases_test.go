//go:build libraries

package bullmq_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/bullmq"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func TestTheReleasesThemselvesKeepTheContracts(t *testing.T) {
	each(t, func(t *testing.T, layout int) {
		t.Helper()
		storagetest.Run(t, redistest.Harness(bullmq.Preset.Redis, driver.RedisOptions{}, newLibrary(layout), abilities))
	})
}

// eachRelease runs a test for each release.
func eachRelease(t *testing.T, test func(t *testing.T, l library, engine *redis.Engine)) {
	t.Helper()
	each(t, func(t *testing.T, layout int) {
		t.Helper()
		l, engine := redistest.Start(t, bullmq.Preset.Redis, driver.RedisOptions{}, newLibrary(layout))
		test(t, l, engine)
	})
}

// agrees fails the test unless BullMQ says the same. What is due is delayed for it.
func agrees(t *testing.T, l library, q driver.Queue, due int64) {
	t.Helper()
	theirs := l.Report(q.Name)
	n := func(state string) int64 { return int64(theirs.Counts[state]) }
	ready := n("waiting") + n("prioritized") + due
	if theirs.Paused {
		ready = 0
	}
	got := driver.Queue{
		Name: q.Name, Known: true, Paused: theirs.Paused, Ready: ready, Running: n("active"),
		Scheduled: n("delayed") - due,
	}
	if diff := cmp.Diff(got, q, redistest.ButAges); diff != "" {
		t.Errorf("-BullMQ +leadsman:\n%s", diff)
	}
}

func TestEveryReleaseCountsWhatBullMQCounts(t *testing.T) {
	eachRelease(t, func(t *testing.T, l library, engine *redis.Engine) {
		t.Helper()
		l.Finish("mail", 2)
		l.Run("mail", 1)
		l.FailForGood("mail") // for good
		l.Fail("mail", 2, time.Hour)
		l.Fail("mail", 1, -2*time.Hour)
		l.Run("mail", 3) // takes what is due, too
		l.Insert("mail", 4)
		l.Enqueue("mail", 2, map[string]any{"priority": 3})
		l.Enqueue("mail", 1, map[string]any{"priority": 1})
		l.Enqueue("mail", 1, map[string]any{"lifo": true})
		l.Schedule("mail", 5, 3*time.Hour)
		l.Schedule("mail", 1, -2*time.Hour)
		l.Do("flow", map[string]any{"queue": "mail", "n": 2})
		got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 10, Running: 3, Scheduled: 7})
		redistest.Near(t, "oldest", got.Oldest, 2*time.Hour)
		redistest.Near(t, "next due", got.NextDue, time.Hour)
		agrees(t, l, got, 1)
		agrees(t, l, redistest.ReadQueue(t, engine, "mail-children"), 0)
		agrees(t, l, redistest.ReadQueue(t, engine, "mail"), 1) // BullMQ's counting may have taken a marker away
	})
}

func TestEveryReleasePausesAndResumes(t *testing.T) {
	eachRelease(t, func(t *testing.T, l library, engine *redis.Engine) {
		t.Helper()
		l.Run("mail", 1)
		l.Insert("mail", 2)
		l.Enqueue("mail", 3, map[string]any{"priority": 3})
		l.Pause("mail")
		l.Insert("mail", 4)
		l.Schedule("mail", 1, time.Hour)
		got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Paused: true, Running: 1, Scheduled: 1})
		agrees(t, l, got, 0)
		l.Resume("mail")
		got = expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 9, Running: 1, Scheduled: 1})
		agrees(t, l, got, 0)
	})
}

// Nothing but markers: before 5 they are in the list of jobs.
func TestAnIdleQueueIsIdle(t *testing.T) {
	eachRelease(t, func(t *testing.T, l library, engine *redis.Engine) {
		t.Helper()
		l.Schedule("mail", 1, time.Hour)
		expect(t, engine, driver.Queue{Name: "mail", Known: true, Scheduled: 1})
		l.Finish("images", 3)
		expect(t, engine, driver.Queue{Name: "images", Known: true})
	})
}

func TestTheJobsOfADeadWorkerCountUntilAnotherTakesThemUp(t *testing.T) {
	eachRelease(t, func(t *testing.T, l library, engine *redis.Engine) {
		t.Helper()
		l.Run("mail", 2)
		l.Abandon("mail")
		expect(t, engine, driver.Queue{Name: "mail", Known: true, Running: 2})
	})
}

func TestTheNextRunOfARepeatedJobIsScheduled(t *testing.T) {
	eachRelease(t, func(t *testing.T, l library, engine *redis.Engine) {
		t.Helper()
		l.Enqueue("mail", 1, map[string]any{"repeat": map[string]any{"pattern": "0 0 1 1 *"}})
		got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Scheduled: 1})
		if got.NextDue <= 0 || got.NextDue > 366*24*time.Hour {
			t.Errorf("next due = %s, want within a year", got.NextDue)
		}
	})
}

func TestAGlobalConcurrencyBoundsWhatBullMQStarts(t *testing.T) {
	for _, layout := range []int{5, 6} {
		l, engine := redistest.Start(t, bullmq.Preset.Redis, driver.RedisOptions{}, newLibrary(layout))
		l.Run("mail", 2)
		l.Do("limit", map[string]any{"queue": "mail", "concurrency": 3})
		l.Insert("mail", 5)
		expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1, Running: 2})
		l.Start("mail", 1)
		expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 0, Running: 3})
	}
}
