package bull_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/bull"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// Active jobs whose worker is gone make the queue active, so that another worker takes them up: jobs are never orphans. And
// Bull keeps no list of its queues.
var abilities = storagetest.Abilities{Lookahead: true, Paused: true, Retries: true}

func TestBullKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(bull.Preset.Redis, driver.RedisOptions{}, newFixture, abilities))
}

// start starts a server and returns a fixture and an engine of it.
func start(t *testing.T) (*fixture, *redis.Engine) {
	t.Helper()
	return redistest.Start(t, bull.Preset.Redis, driver.RedisOptions{}, newFixture)
}

// expect reads a queue and compares it, but for ages.
func expect(t *testing.T, engine driver.Reader, want driver.Queue) driver.Queue {
	t.Helper()
	return redistest.Expect(t, engine, want, redistest.ButAges)
}

// Case 33, which is n8n's: a queue that is not known says which there are.
func TestAnUnknownQueueIsToldByItsNeighbours(t *testing.T) {
	f, engine := start(t)
	f.redis.Do(t, "LPUSH", "bull:jobs:wait", "1") // and nothing else
	f.redis.Do(t, "SET", "bull:drained:id", "17")
	redistest.Unknown(t, engine, "default", `"default"`, `"bull"`, `"jobs"`, `"drained"`)
	expect(t, engine, driver.Queue{Name: "jobs", Known: true, Ready: 1})
	expect(t, engine, driver.Queue{Name: "drained", Known: true})
}

// Case 42, for Bull.
func TestADelayedJobIsReadyOnceItIsDue(t *testing.T) {
	f, engine := start(t)
	for id, due := range map[string]time.Duration{"past": -time.Second, "future": time.Hour} {
		f.redis.Do(t, "ZADD", "bull:q:delayed", fmt.Sprint(time.Now().Add(due).UnixMilli()*4096), id)
	}
	got := expect(t, engine, driver.Queue{Name: "q", Known: true, Ready: 1, Scheduled: 1})
	redistest.Near(t, "next due", got.NextDue, time.Hour)
}

// Jobs with a priority would be out of sight.
func TestAQueueOfBullMQIsAnErrorThatSaysSo(t *testing.T) {
	f, engine := start(t)
	f.redis.Do(t, "HSET", "bull:mail:meta", "version", "bullmq:5.81.5", "opts.maxLenEvents", "10000")
	f.redis.Do(t, "ZADD", "bull:mail:prioritized", "1", "j1")
	redistest.Fails(t, engine, driver.Want{Queue: "mail"}, driver.Schema, "bull:mail:meta", "bullmq:5.81.5", "use the preset bullmq")
}

func TestAPauseByBullMQAloneDoesNotPauseBull(t *testing.T) {
	f, engine := start(t)
	f.Insert("mail", 1)
	f.redis.Do(t, "HSET", "bull:mail:meta", "paused", "1")
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1})
}

func TestAKeyOfAnotherTypeIsAnErrorThatNamesIt(t *testing.T) {
	f, engine := start(t)
	f.Insert("mail", 1)
	f.redis.Do(t, "SET", "bull:mail:active", "x")
	redistest.Fails(t, engine, driver.Want{Queue: "mail"}, driver.Schema, "bull:mail:active")
}

func TestValuesThatAreNoneHideNoJob(t *testing.T) {
	f, engine := start(t)
	f.redis.Do(t, "LPUSH", "bull:mail:wait", "no-hash", "strange")
	f.redis.Do(t, "HSET", "bull:mail:strange", "timestamp", "yesterday", "opts", `[]`)
	f.redis.Do(t, "ZADD", "bull:mail:delayed", "-inf", "a", "0", "b", "+inf", "c")
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 4, Scheduled: 1})
	if got.Oldest != 0 || got.NextDue != 0 {
		t.Errorf("oldest = %s, next due = %s, want both unknown", got.Oldest, got.NextDue)
	}
}

func TestTheOldestJobIsTheLastOfTheListOrTheFirstThatIsDue(t *testing.T) {
	f, engine := start(t)
	f.insert("mail", time.Hour)
	f.insert("mail", time.Minute)
	redistest.Near(t, "oldest", redistest.ReadQueue(t, engine, "mail").Oldest, time.Hour)
	f.Schedule("mail", 1, -2*time.Hour)
	redistest.Near(t, "oldest", redistest.ReadQueue(t, engine, "mail").Oldest, 2*time.Hour)
	f.Pause("mail")
	if got := redistest.ReadQueue(t, engine, "mail").Oldest; got != 0 {
		t.Errorf("oldest = %s in a paused queue, want none", got)
	}
}

func TestTheSourceNamesTheQueuesThatABareWantStandsFor(t *testing.T) {
	server := storagetest.StartRedis(t)
	f := newFixture(t, server)
	f.prefix = "n8n"
	f.Insert("jobs", 2)
	f.Insert("others", 1)
	engine := redistest.Open(t, bull.Preset.Redis, driver.RedisOptions{Prefix: "n8n", Queues: []string{"jobs", "nobody"}}, server.URL())
	want := []driver.Queue{{Name: "jobs", Known: true, Ready: 2}}
	if diff := cmp.Diff(want, redistest.Read(t, engine, driver.Want{}).Queues, redistest.ButAges); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheChannelsOfAQueueAreWrittenOut(t *testing.T) {
	got := bull.Preset.Redis.Events(&driver.RedisOptions{Prefix: "bull"}, "a*[b]?")
	want := []driver.RedisEvent{{Pattern: `bull:a\*\[b\]\?:waiting@*`}, {Channel: "bull:a*[b]?:delayed"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheCommandsAreTheReviewedOnes(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	f.now = redistest.Noon
	f.Schedule("jobs", 1, -time.Minute)
	f.Insert("jobs", 3)
	ask := driver.RedisAsk{Queue: "jobs", Now: redistest.Noon(), Lookahead: time.Minute}
	redistest.Golden(t, f.redis, bull.Preset.Redis, ask)
}

func TestTheDocumentedUserSuffices(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	f.Insert("jobs", 2)
	f.Schedule("jobs", 1, -2*time.Hour)
	f.Schedule("jobs", 1, time.Hour)
	f.Run("jobs", 3)
	engine := redistest.LeastPrivilege(t, f.redis, bull.Preset.Redis, driver.RedisOptions{}, []driver.Queue{{
		Name: "jobs", Known: true, Ready: 3, Running: 3, Scheduled: 1, Oldest: 2 * time.Hour, NextDue: time.Hour,
	}}, driver.Want{Queue: "jobs"})
	redistest.Unknown(t, engine, "nobody", `there is "jobs"`)
}
