package bullmq_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/bullmq"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// Active jobs whose worker is gone make the queue active, so that another worker takes them up: jobs are never orphans. And
// BullMQ keeps no list of its queues.
var abilities = storagetest.Abilities{Lookahead: true, Paused: true, Retries: true}

func TestBullMQKeepsTheContracts(t *testing.T) {
	each(t, func(t *testing.T, layout int) {
		t.Helper()
		storagetest.Run(t, redistest.Harness(bullmq.Preset.Redis, driver.RedisOptions{}, layoutFixture(layout), abilities))
	})
}

// each runs a test for each layout.
func each(t *testing.T, test func(t *testing.T, layout int)) {
	t.Helper()
	for _, layout := range []int{3, 4, 5, 6} {
		t.Run(fmt.Sprintf("layout%d", layout), func(t *testing.T) { test(t, layout) })
	}
}

// start starts a server and returns a fixture and an engine of it.
func start(t *testing.T, layout int) (*fixture, *redis.Engine) {
	t.Helper()
	return redistest.Start(t, bullmq.Preset.Redis, driver.RedisOptions{}, layoutFixture(layout))
}

// layoutFixture makes fixtures of a layout.
func layoutFixture(layout int) func(testing.TB, *storagetest.RedisServer) *fixture {
	return func(tb testing.TB, server *storagetest.RedisServer) *fixture { return newFixture(tb, server, layout) }
}

// expect reads a queue and compares it, but for ages.
func expect(t *testing.T, engine driver.Reader, want driver.Queue) driver.Queue {
	t.Helper()
	return redistest.Expect(t, engine, want, redistest.ButAges)
}

// Case 41, byte for byte as reported.
func TestAPrioritizedJobAloneIsReady(t *testing.T) {
	f, engine := start(t, 6)
	f.redis.Do(t, "ZADD", "bull:q:prioritized", "1", "j1")
	expect(t, engine, driver.Queue{Name: "q", Known: true, Ready: 1})
}

// Case 42.
func TestADelayedJobIsReadyOnceItIsDue(t *testing.T) {
	f, engine := start(t, 6)
	for id, due := range map[string]time.Duration{"past": -time.Second, "future": time.Hour} {
		f.redis.Do(t, "ZADD", "bull:q:delayed", fmt.Sprint(time.Now().Add(due).UnixMilli()*4096), id)
	}
	got := expect(t, engine, driver.Queue{Name: "q", Known: true, Ready: 1, Scheduled: 1})
	redistest.Near(t, "next due", got.NextDue, time.Hour)
}

// The marker that versions 3 and 4 put into the list of waiting jobs would keep a worker running, or start one.
func TestMarkersAreNoJobs(t *testing.T) {
	for _, layout := range []int{3, 4} {
		f, engine := start(t, layout)
		f.Schedule("later", 2, time.Hour)
		expect(t, engine, driver.Queue{Name: "later", Known: true, Scheduled: 2})
		f.insert("later", 0, 0)
		expect(t, engine, driver.Queue{Name: "later", Known: true, Scheduled: 2, Ready: 1})
		f.redis.Do(t, "RPUSH", "bull:later:wait", "lifo") // and the marker is not the last any more
		expect(t, engine, driver.Queue{Name: "later", Known: true, Scheduled: 2, Ready: 2})
	}
	f, engine := start(t, 4)
	f.insert("prioritized", time.Hour, 1)
	got := expect(t, engine, driver.Queue{Name: "prioritized", Known: true, Ready: 1})
	redistest.Near(t, "oldest", got.Oldest, time.Hour)
}

func TestAPausedQueueIsPausedInEveryLayout(t *testing.T) {
	each(t, func(t *testing.T, layout int) {
		t.Helper()
		f, engine := start(t, layout)
		f.insert("mail", time.Hour, 0)
		f.Run("mail", 1)
		f.Pause("mail")
		f.insert("mail", time.Hour, 0)
		f.insert("mail", time.Hour, 5)
		got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Paused: true, Running: 1})
		if got.Oldest != 0 {
			t.Errorf("oldest = %s, want none: nothing is ready", got.Oldest)
		}
	})
}

// 6 leaves jobs where 5 had put them when it was paused, until somebody resumes the queue.
func TestJobsThatAnOlderVersionPausedAreNotReady(t *testing.T) {
	f, engine := start(t, 6)
	f.insert("mail", 0, 0)
	f.redis.Do(t, "LPUSH", "bull:mail:paused", "a", "b")
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1})
}

func TestAGlobalConcurrencyBoundsWhatCanBeStarted(t *testing.T) {
	f, engine := start(t, 6)
	f.Insert("mail", 10)
	f.Schedule("mail", 1, -time.Minute)
	f.Run("mail", 3)
	for concurrency, want := range map[string]int64{
		"5": 2, "3": 0, "2": 0, "0": 0, "100": 11, "3.5": 1, // as BullMQ takes them
		"many": 11, "NaN": 11, "": 11,
	} {
		f.redis.Do(t, "HSET", "bull:mail:meta", "concurrency", concurrency)
		t.Run(concurrency, func(t *testing.T) {
			got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: want, Running: 3})
			if (got.Oldest > 0) != (want > 0) {
				t.Errorf("oldest = %s of %d ready jobs", got.Oldest, want)
			}
		})
	}
}

func TestAnUnknownVersionIsAnErrorThatNamesIt(t *testing.T) {
	f, engine := start(t, 6)
	f.Insert("mail", 1)
	for version, known := range map[string]bool{
		"bullmq:7.0.0": false, "bullmq:12.1.3-beta": false,
		"bullmq:6.99.0": true, "bullmq:1.91.1": true, "bullmq-pro:7.42.0": true, "bullmq": true, "bullmq:": true, "mine:9": true,
	} {
		f.redis.Do(t, "HSET", "bull:mail:meta", "version", version)
		if known {
			expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1})
		} else {
			redistest.Fails(t, engine, driver.Want{Queue: "mail"}, driver.Schema, version, "bull:mail:meta", "up to version 6", "update leadsman")
		}
	}
}

// Its groups are places for jobs that nobody looks into.
func TestAQueueOfBullMQProSaysWhatDoesNotCount(t *testing.T) {
	f, engine := start(t, 5)
	f.Insert("mail", 1)
	want := driver.Want{Queue: "mail"}
	if notes := redistest.Read(t, engine, want).Notes; len(notes) > 0 {
		t.Errorf("notes = %q of a queue of BullMQ's, want none", notes)
	}
	f.redis.Do(t, "HSET", "bull:mail:meta", "version", "bullmq-pro:7.42.0")
	if notes := strings.Join(redistest.Read(t, engine, want).Notes, "\n"); !strings.Contains(notes, `"mail"`) || !strings.Contains(notes, "groups") {
		t.Errorf("notes = %q, want one about the groups of the queue", notes)
	}
}

func TestAKeyOfAnotherTypeIsAnErrorThatNamesIt(t *testing.T) {
	f, engine := start(t, 6)
	f.Insert("mail", 1)
	f.redis.Do(t, "SET", "bull:mail:delayed", "x")
	redistest.Fails(t, engine, driver.Want{Queue: "mail"}, driver.Schema, "bull:mail:delayed")
}

func TestValuesThatAreNoneHideNoJob(t *testing.T) {
	f, engine := start(t, 6)
	f.redis.Do(t, "LPUSH", "bull:mail:wait", "no-hash", "strange", "")
	f.redis.Do(t, "HSET", "bull:mail:strange", "timestamp", "yesterday", "processedOn", "-1", "opts", `{"delay":[`)
	f.redis.Do(t, "ZADD", "bull:mail:prioritized", "-inf", "a", "1e300", "b", "+inf", "c")
	f.redis.Do(t, "ZADD", "bull:mail:delayed", "-inf", "a", "-5", "b", "0", "c", "+inf", "d", "1e300", "e")
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 9, Scheduled: 2})
	if got.Oldest != 0 || got.NextDue != 0 {
		t.Errorf("oldest = %s, next due = %s, want both unknown", got.Oldest, got.NextDue)
	}
}

func TestTheCommandsAreTheReviewedOnes(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t), 6)
	f.now = redistest.Noon
	f.Schedule("mail", 1, -time.Minute)
	f.Insert("mail", 3)
	f.insert("mail", 0, 2)
	f.Run("mail", 1)
	ask := driver.RedisAsk{Queue: "mail", Now: redistest.Noon(), Lookahead: time.Minute}
	redistest.Golden(t, f.redis, bullmq.Preset.Redis, ask)
}
