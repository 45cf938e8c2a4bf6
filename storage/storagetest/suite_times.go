package storagetest

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// timeTests are about clocks and ages. The stores under test are on this machine, so its clock is theirs.
var timeTests = []suiteTest{
	{"ReadTellsTheBackendsClock", nil, testNow},
	{"ReadTellsHowLongTheOldestReadyJobWaits", later, testOldest},
	{"ReadTellsWhenTheFirstScheduledJobIsDue", dated, testNextDue},
	{"ReadTellsNoAgeWhereThereIsNoJob", nil, testNoAge},
	{"ReadTellsAgesWithALookahead", lookahead, testAgesWithLookahead},
}

// slack is by how much ages may differ beside the time that the test itself took: for rounding to a second.
const slack = 2 * time.Second

// near fails the test unless got is around want, give or take what passed since start.
func near(t *testing.T, what string, got, want time.Duration, start time.Time) {
	t.Helper()
	if passed := time.Since(start) + slack; got < want-passed || got > want+passed {
		t.Errorf("%s = %s, want %s within %s", what, got, want, passed)
	}
}

func testNow(t *testing.T, h Harness) {
	s := open(t, h)
	start := time.Now()
	first, second := s.read(0, named("mail")...).Now, s.read(0, named("mail")...).Now
	near(t, "the clock", first.Sub(start), 0, start)
	if second.Before(first) {
		t.Errorf("the clock went back from %s to %s", first, second)
	}
}

func testOldest(t *testing.T, h Harness) {
	s := open(t, h)
	start := time.Now()
	s.Insert("mail", 5)
	near(t, "oldest", s.queue("mail").Oldest, 0, start)
	for _, due := range []time.Duration{-time.Minute, -time.Hour, -2 * time.Minute} {
		s.Schedule("mail", 1, due)
	}
	s.Schedule("mail", 1, 3*time.Hour)
	near(t, "oldest", s.queue("mail").Oldest, time.Hour, start)
}

func testNextDue(t *testing.T, h Harness) {
	s := open(t, h)
	start := time.Now()
	s.Insert("mail", 1)
	for _, due := range []time.Duration{2 * time.Hour, time.Hour, -time.Hour, 3 * time.Hour} {
		s.Schedule("mail", 5, due)
	}
	near(t, "next due", s.queue("mail").NextDue, time.Hour, start)
}

func testNoAge(t *testing.T, h Harness) {
	s := open(t, h)
	s.Run("mail", 1)
	s.Insert("ready", 1)
	if later(h) {
		s.Schedule("scheduled", 1, time.Hour)
	}
	if q := s.queue("mail"); q.Oldest != 0 || q.NextDue != 0 {
		t.Errorf("of running jobs only: oldest = %s, next due = %s, want 0, 0", q.Oldest, q.NextDue)
	}
	if q := s.queue("ready"); q.NextDue != 0 {
		t.Errorf("of ready jobs only: next due = %s, want 0", q.NextDue)
	}
	if q := s.queue("scheduled"); q.Oldest != 0 {
		t.Errorf("of scheduled jobs only: oldest = %s, want 0", q.Oldest)
	}
	if q := s.queue("nobody"); q.Oldest != 0 || q.NextDue != 0 {
		t.Errorf("of an unknown queue: oldest = %s, next due = %s, want 0, 0", q.Oldest, q.NextDue)
	}
}

func testAgesWithLookahead(t *testing.T, h Harness) {
	s := open(t, h)
	start := time.Now()
	s.Schedule("mail", 1, 10*time.Minute)
	s.Schedule("mail", 1, 2*time.Hour)
	q := s.read(0, driver.Want{Queue: "mail", Lookahead: time.Hour}).Queues[0]
	if q.Ready != 1 || q.Oldest != 0 {
		t.Errorf("ready = %d, oldest = %s, want 1, 0: the job is ready early and has not waited", q.Ready, q.Oldest)
	}
	near(t, "next due", q.NextDue, 2*time.Hour, start)
}
