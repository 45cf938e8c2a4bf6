package asynq_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/asynq"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A task whose lease has ended makes the queue active, so that a server recovers it: tasks without a server are never
// orphans, and the suite's ability is left out.
var abilities = storagetest.Abilities{Everything: true, Lookahead: true, Paused: true, Retries: true}

func TestAsynqKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(asynq.Preset.Redis, driver.RedisOptions{}, newFixture, abilities))
}

// open starts a server and returns a fixture and an engine of it.
func open(t *testing.T) (fixture, *redis.Engine) {
	t.Helper()
	return redistest.Start(t, asynq.Preset.Redis, driver.RedisOptions{}, newFixture)
}

// expect reads a queue and compares it, but for ages and servers.
func expect(t *testing.T, engine driver.Reader, want driver.Queue) driver.Queue {
	t.Helper()
	return redistest.Expect(t, engine, want, redistest.ButWorkers)
}

// Case 45: nobody promotes what is due while there is no server.
func TestDueTasksAreReadyWithoutAServer(t *testing.T) {
	f, engine := open(t)
	f.Schedule("mail", 1, -time.Minute)
	f.Fail("mail", 2, -time.Hour)
	f.Fail("mail", 1, time.Hour)
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 3, Scheduled: 1})
	redistest.Near(t, "oldest", got.Oldest, time.Hour)
	redistest.Near(t, "next due", got.NextDue, time.Hour)
}

// Case 47.
func TestRetainedTasksDoNotCount(t *testing.T) {
	f, engine := open(t)
	f.Insert("mail", 1)
	for _, set := range []string{"completed", "archived"} {
		add := []string{"ZADD", key("mail", set)}
		for i := range 20_000 {
			add = append(add, f.seconds(time.Hour), fmt.Sprintf("%s-%d", set, i))
		}
		f.do(add...)
	}
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1})
}

func TestATaskIsReadyForRecoveryHalfAMinuteAfterItsLease(t *testing.T) {
	f, engine := open(t)
	f.Run("mail", 2)
	f.Orphan("mail", 3, lease+10*time.Second) // a server's clock may be behind, and Asynq leaves it alone
	f.Orphan("mail", 4, lease+10*time.Minute)
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 4, Running: 5})
	redistest.Near(t, "oldest", got.Oldest, 570*time.Second)
}

// It would wake a server for ever: Asynq does not recover what is not active.
func TestALeaseWithoutAnActiveTaskDoesNotCount(t *testing.T) {
	f, engine := open(t)
	f.list("mail")
	f.do("ZADD", key("mail", "lease"), f.seconds(-time.Hour), "task-gone")
	expect(t, engine, driver.Queue{Name: "mail", Known: true})
}

func TestAGroupCountsAsTheOneTaskThatItWillBe(t *testing.T) {
	f, engine := open(t)
	f.group("mail", "daily", 100)
	f.group("mail", "weekly", 10)
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2})
	f.batch("mail", "daily", 2*time.Minute)
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1, Running: 1})
	f.batch("mail", "weekly", -time.Minute)
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1, Running: 1})
}

func TestTheOldestPendingTaskIsTheLastOfTheList(t *testing.T) {
	f, engine := open(t)
	f.insert("mail", 1, 2*time.Hour)
	f.insert("mail", 3, 5*time.Minute)
	redistest.Near(t, "oldest", redistest.ReadQueue(t, engine, "mail").Oldest, 2*time.Hour)
	f.do("RPUSH", key("mail", "pending"), "task-given-back") // at a server's shutdown, without a time
	if got := redistest.ReadQueue(t, engine, "mail"); got.Ready != 5 || got.Oldest != 0 {
		t.Errorf("with a task given back: ready = %d, oldest = %s, want 5 and unknown", got.Ready, got.Oldest)
	}
}

func TestTimesThatAreNoneHideNoTask(t *testing.T) {
	f, engine := open(t)
	f.Insert("mail", 1)
	f.do("HSET", key("mail", "t:task-1"), "pending_since", "yesterday")
	f.do("ZADD", key("mail", "scheduled"), "-inf", "a", "-5", "b", "+inf", "c", "1e300", "d")
	f.do("ZADD", key("mail", "retry"), strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10), "in-milliseconds")
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 3, Scheduled: 3})
	if got.Oldest != 0 || got.NextDue != 0 {
		t.Errorf("oldest = %s, next due = %s, want both unknown", got.Oldest, got.NextDue)
	}
}

func TestAKeyOfAnotherTypeIsAnErrorThatNamesIt(t *testing.T) {
	f, engine := open(t)
	f.Insert("mail", 1)
	f.do("SET", key("mail", "retry"), "x")
	redistest.Fails(t, engine, driver.Want{Queue: "mail"}, driver.Schema, "asynq:{mail}:retry")
}

func TestTheCommandsAreTheReviewedOnes(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	f.now = redistest.Noon
	f.Schedule("mail", 1, -time.Minute)
	f.Fail("mail", 1, -time.Hour)
	f.Orphan("mail", 1, time.Hour)
	f.Insert("mail", 1)
	register(f, "mail", time.Minute)
	ask := driver.RedisAsk{Queue: "mail", Now: redistest.Noon(), Lookahead: time.Minute}
	redistest.Golden(t, f.server, asynq.Preset.Redis, ask)
}

func TestTheDocumentedUserSuffices(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	f.Insert("mail", 2)
	f.Schedule("mail", 1, -time.Hour)
	f.Run("mail", 3)
	register(f, "mail", time.Minute)
	redistest.LeastPrivilege(t, f.server, asynq.Preset.Redis, driver.RedisOptions{}, []driver.Queue{
		{Name: "mail", Known: true, Ready: 3, Running: 3, Oldest: time.Hour, Pool: &driver.Pool{Workers: 1, Capacity: 10}},
		{Name: "nobody", Pool: &driver.Pool{}},
	}, driver.Want{}, driver.Want{Queue: "mail"}, driver.Want{Queue: "nobody"})
}
