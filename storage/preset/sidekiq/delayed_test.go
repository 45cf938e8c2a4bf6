package sidekiq_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// Jobs for later of all queues are in one set, and which queue one is for is said in the middle of it.
func TestJobsForLaterBelongToTheQueueThatTheyName(t *testing.T) {
	f, engine := on(t, driver.RedisOptions{})
	long := strings.Repeat(`{"queue":"args"},`, 1<<15)
	f.Do("ZADD", "schedule",
		at(-time.Minute), `{"args":[`+long+`0],"queue":"mail","jid":"1"}`,
		at(-time.Hour), `{"class":"Work","jid":"2"}`, // Sidekiq's default
		at(-time.Hour), `no JSON at all`, // which Sidekiq drops
		at(-time.Hour), `{"queue":"ma\u0069l","jid":"3"}`,
		at(-time.Hour), `{"queue":"Mail","jid":"4"}`,
		"-inf", `{"queue":"mail","jid":"5"}`,
		"inf", `{"queue":"mail","jid":"6"}`,
	)
	for _, want := range []driver.Queue{
		{Name: "mail", Known: true, Ready: 3, Scheduled: 1},
		{Name: "default", Known: true, Ready: 1},
		{Name: "Mail", Known: true, Ready: 1},
		{Name: "args"},
	} {
		expect(t, engine, want)
	}
	if due := redistest.ReadQueue(t, engine, "mail").NextDue; due < 200*365*24*time.Hour {
		t.Errorf("the job that is never due is due in %s", due)
	}
}

func TestMoreDueJobsThanAreReadSaturate(t *testing.T) {
	f, engine := on(t, driver.RedisOptions{})
	f.Insert("mail", 5)
	f.delay("schedule", "images", 1200, -time.Hour)
	f.delay("schedule", "mail", 3, -time.Minute) // behind them
	f.delay("retry", "mail", 999, -time.Minute)
	for queue, ready := range map[string]int64{"mail": 1004, "images": 1000} {
		expect(t, engine, driver.Queue{Name: queue, Known: true, Ready: ready, Saturated: true})
	}
	f.Do("DEL", "schedule") // and 999 are in a set
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1004})
}

// A job that lies behind those that are read is not forgotten: the sample is to be taken again when they are due.
func TestAJobBehindManyOthersIsLookedForInTime(t *testing.T) {
	f, _ := on(t, driver.RedisOptions{})
	f.delay("schedule", "images", 50, 10*time.Minute)
	f.delay("schedule", "images", 100, 20*time.Minute)
	f.delay("schedule", "images", 1000, 30*time.Minute)
	f.delay("schedule", "mail", 1, 40*time.Minute)
	for _, activity := range []bool{true, false} {
		q, _ := plan(t, f, "mail", activity)
		want := 30 * time.Minute // of the 1,000th job
		if activity {
			want = 20 * time.Minute // of the 100th
		}
		redistest.Near(t, "the next look", q.NextDue, want)
		if q.Ready != 0 || q.Scheduled != 0 || q.Saturated == activity {
			t.Errorf("activity = %t: %+v", activity, q)
		}
	}
	f.Do("DEL", "schedule")
	f.delay("schedule", "images", 100, 20*time.Minute)
	f.delay("schedule", "mail", 1, 40*time.Minute)
	f.Do("ZADD", "retry", at(15*time.Minute), f.job("images", nil))
	q, _ := plan(t, f, "mail", false)
	redistest.Near(t, "next due, all being read", q.NextDue, 40*time.Minute)
	if q, _ := plan(t, f, "nobody", false); q.NextDue != 0 || q.Known {
		t.Errorf("of a queue without jobs: %+v", q)
	}
}

// What is due is looked for before the queue is, where it goes: so it is in one of them.
func TestReadsFollowAJobsWay(t *testing.T) {
	f, _ := on(t, driver.RedisOptions{})
	_, commands := plan(t, f, "mail", true)
	last := -1
	for _, command := range []string{"ZRANGEBYSCORE schedule -inf", "ZRANGEBYSCORE retry -inf", "LLEN queue:mail", "SMEMBERS processes"} {
		at := strings.Index(commands, command)
		if at <= last {
			t.Errorf("%s is missing or not in its place:\n%s", command, commands)
		}
		last = at
	}
}

func TestAPausedQueueKeepsItsJobsForLater(t *testing.T) {
	f, engine := on(t, driver.RedisOptions{})
	f.Insert("mail", 3)
	f.Schedule("mail", 2, time.Hour)
	f.Run("mail", 1)
	f.Pause("mail")
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Paused: true, Running: 1, Scheduled: 2})
	if got.Oldest != 0 {
		t.Errorf("oldest = %s, and nothing is ready", got.Oldest)
	}
}
