package storagetest

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// countTests are about which jobs count as what.
var countTests = []suiteTest{
	{"ReadSeesEachInsertAtOnce", nil, testEachInsert},
	{"ReadCountsClaimedJobsAsRunning", nil, testRunning},
	{"ReadCountsDueScheduledJobsAsReady", later, testDueScheduled},
	{"ReadCountsFutureJobsAsScheduled", later, testFuture},
	{"ReadCountsDueFailedJobsAsReady", retries, testDueFailed},
	{"ReadCountsFailedAndSnoozedJobsAsScheduled", retries, testFutureRetries},
	{"ReadCountsABrieflySnoozedJobAsScheduledUntilItIsDue", retries, testShortSnooze},
	{"ReadDoesNotCountFinishedAndCancelledJobs", nil, testFinished},
	{"ReadDoesNotCountOrphansAsRunning", orphans, testOrphans},
	{"ReadCountsNothingReadyInAPausedQueue", paused, testPaused},
	{"ReadBoundsEachCountByLimit", bounded, testLimit},
	{"ReadBoundsTheSumOfAllReadyJobs", bounded, testLimitOfSum},
	{"ReadCountsThousandsExactlyWithoutALimit", nil, testExact},
}

func testEachInsert(t *testing.T, h Harness) {
	s := open(t, h)
	for n := int64(1); n <= 5; n++ {
		s.Insert("mail", 1)
		if got := s.queue("mail").Ready; got != n {
			t.Fatalf("after %d inserts, ready = %d", n, got)
		}
	}
}

func testRunning(t *testing.T, h Harness) {
	s := open(t, h)
	s.Run("mail", 3)
	s.Insert("mail", 2)
	s.expect([]driver.Queue{{Name: "mail", Known: true, Ready: 2, Running: 3}}, named("mail")...)
}

func testDueScheduled(t *testing.T, h Harness) {
	s := open(t, h)
	s.Insert("mail", 1)
	s.Schedule("mail", 6, -10*time.Minute)
	s.Schedule("only-due", 2, -time.Second)
	s.expect([]driver.Queue{
		{Name: "mail", Known: true, Ready: 7},
		{Name: "only-due", Known: true, Ready: 2},
	}, named("mail", "only-due")...)
}

func testFuture(t *testing.T, h Harness) {
	s := open(t, h)
	s.Schedule("mail", 6, time.Hour)
	s.expect([]driver.Queue{{Name: "mail", Known: true, Scheduled: 6}}, named("mail")...)
}

func testDueFailed(t *testing.T, h Harness) {
	s := open(t, h)
	s.Fail("mail", 6, -10*time.Minute)
	s.Insert("mail", 1)
	s.expect([]driver.Queue{{Name: "mail", Known: true, Ready: 7}}, named("mail")...)
}

func testFutureRetries(t *testing.T, h Harness) {
	s := open(t, h)
	s.Fail("mail", 2, time.Hour)
	s.Snooze("mail", 3, 2*time.Hour)
	s.expect([]driver.Queue{{Name: "mail", Known: true, Scheduled: 5}}, named("mail")...)
}

// Libraries that promote jobs make those due soon available at once, with a due time in the future: they are not
// ready before that.
func testShortSnooze(t *testing.T, h Harness) {
	s := open(t, h)
	due := time.Now().Add(4 * time.Second) // or later: the job is snoozed after this
	s.Snooze("mail", 1, 4*time.Second)
	q := s.queue("mail")
	if q.Ready+q.Scheduled != 1 {
		t.Errorf("ready + scheduled = %d + %d, want 1", q.Ready, q.Scheduled)
	}
	if q.Ready > 0 && time.Now().Before(due) {
		t.Error("a snoozed job is ready before it is due")
	}
}

func testFinished(t *testing.T, h Harness) {
	s := open(t, h)
	s.Finish("mail", 3)
	s.Cancel("mail", 2)
	s.Insert("mail", 1)
	s.expect([]driver.Queue{{Name: "mail", Known: true, Ready: 1}}, named("mail")...)
}

func testOrphans(t *testing.T, h Harness) {
	s := open(t, h)
	s.Orphan("mail", 5, 40*24*time.Hour)
	if got := s.queue("mail"); got.Running != 0 || got.Ready != 0 {
		t.Errorf("running = %d, ready = %d of jobs claimed 40 days ago, want none", got.Running, got.Ready)
	}
	s.Run("mail", 1)
	if got := s.queue("mail").Running; got != 1 {
		t.Errorf("running = %d beside orphans, want 1", got)
	}
}

func testPaused(t *testing.T, h Harness) {
	s := open(t, h)
	s.Pause("mail")
	s.Insert("mail", 3)
	s.Schedule("mail", 2, -time.Minute)
	s.Schedule("mail", 1, time.Hour)
	s.Insert("images", 4)
	s.expect([]driver.Queue{
		{Name: "images", Known: true, Ready: 4},
		{Name: "mail", Known: true, Paused: true, Scheduled: 1},
	}, named("mail", "images")...)
	if got := s.queue("mail").Oldest; got != 0 {
		t.Errorf("oldest = %s in a paused queue, want 0: nothing is ready", got)
	}
}

func testLimit(t *testing.T, h Harness) {
	s := open(t, h)
	const limit = 8
	s.Insert("below", limit-1)
	s.Insert("at", limit)
	s.Insert("above", limit+1)
	s.Schedule("future", limit+1, time.Hour)
	s.Run("running", limit+1)
	reading := s.read(limit, named("below", "at", "above", "future", "running", "nobody")...)
	for _, q := range reading.Queues {
		counts := [3]int64{q.Ready, q.Running, q.Scheduled}
		want := map[string][3]int64{
			"below": {limit - 1, 0, 0}, "at": {limit, 0, 0}, "above": {limit, 0, 0},
			"running": {0, limit, 0}, "future": {0, 0, limit}, "nobody": {},
		}[q.Name]
		if counts != want {
			t.Errorf("%s: ready, running, scheduled = %v, want %v", q.Name, counts, want)
		}
		// A count of exactly the limit may be saturated or not: an engine need not look further.
		if above := want != [3]int64{} && q.Name != "below"; q.Name != "at" && q.Saturated != above {
			t.Errorf("%s: saturated = %v, want %v", q.Name, q.Saturated, above)
		}
	}
}

// Ready jobs are found in several states, priorities and perhaps tables: no part of them is above the limit here.
func testLimitOfSum(t *testing.T, h Harness) {
	s := open(t, h)
	s.Insert("mail", 4)
	s.Schedule("mail", 4, -time.Minute)
	q := s.read(7, named("mail")...).Queues[0]
	if q.Ready != 7 || !q.Saturated {
		t.Errorf("ready = %d, saturated = %v, want 7, true", q.Ready, q.Saturated)
	}
	q = s.read(9, named("mail")...).Queues[0]
	if q.Ready != 8 || q.Saturated {
		t.Errorf("ready = %d, saturated = %v, want 8, false", q.Ready, q.Saturated)
	}
}

func testExact(t *testing.T, h Harness) {
	s := open(t, h)
	s.Insert("mail", 2345)
	s.expect([]driver.Queue{{Name: "mail", Known: true, Ready: 2345}}, named("mail")...)
}
