package rq_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/rq"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A suspension is of all queues, and a job whose worker died makes its queue active, so that another takes care of it:
// the suite's abilities for pauses and orphans are left out.
var abilities = storagetest.Abilities{Everything: true, Lookahead: true, Retries: true}

func TestRQKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(rq.Preset.Redis, driver.RedisOptions{}, newFixture, abilities))
}

// open starts a server and returns a fixture and an engine of it.
func open(t *testing.T) (fixture, *redis.Engine) {
	t.Helper()
	return redistest.Start(t, rq.Preset.Redis, driver.RedisOptions{}, newFixture)
}

// expect reads a queue and compares it, but for ages and workers.
func expect(t *testing.T, engine driver.Reader, want driver.Queue) driver.Queue {
	t.Helper()
	return redistest.Expect(t, engine, want, redistest.ButWorkers)
}

// Case 45: nobody promotes what is due while there is no worker, and it is the server's clock that says what is.
func TestDueJobsAreReadyWithoutAWorker(t *testing.T) {
	f, engine := open(t)
	f.do("ZADD", "rq:scheduled:default", f.seconds(-time.Minute), "j1")
	got := expect(t, engine, driver.Queue{Name: "default", Known: true, Ready: 1})
	redistest.Near(t, "oldest", got.Oldest, time.Minute)

	f.Fail("default", 2, -time.Hour)
	f.Fail("default", 1, time.Hour)
	got = expect(t, engine, driver.Queue{Name: "default", Known: true, Ready: 3, Scheduled: 1})
	redistest.Near(t, "oldest", got.Oldest, time.Hour)
	redistest.Near(t, "next due", got.NextDue, time.Hour)
}

func TestAJobIsReadyWhenItsWorkerHasGoneSilent(t *testing.T) {
	f, engine := open(t)
	f.Run("mail", 2)
	f.Orphan("mail", 3, lease+10*time.Minute)
	f.do("ZADD", "rq:wip:mail", "+inf", "job-without-end")
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 3, Running: 3})
	redistest.Near(t, "oldest", got.Oldest, 10*time.Minute)
}

func TestAJobThatAWorkerTakesInHandRuns(t *testing.T) {
	f, engine := open(t)
	f.Insert("mail", 2)
	f.do("LMOVE", "rq:queue:mail", "rq:queue:mail:intermediate", "LEFT", "RIGHT")
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1, Running: 1})
}

func TestNothingIsReadyWhileWorkersAreSuspended(t *testing.T) {
	f, engine := open(t)
	f.Insert("mail", 2)
	f.Schedule("mail", 1, -time.Minute)
	f.Orphan("mail", 1, lease+time.Hour)
	f.Schedule("mail", 1, time.Hour)
	f.Run("mail", 1)
	f.do("SET", "rq:suspended", "1")
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Paused: true, Running: 1, Scheduled: 1})
	if got.Oldest != 0 {
		t.Errorf("oldest = %s, want 0: nothing is ready", got.Oldest)
	}
	expect(t, engine, driver.Queue{Name: "nobody", Paused: true})
	f.do("DEL", "rq:suspended")
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 4, Running: 1, Scheduled: 1})
}

func TestJobsThatWaitForOthersAreNotReady(t *testing.T) {
	f, engine := open(t)
	f.put("mail", "deferred", 2, 0)
	f.put("mail", "failed", 3, time.Hour)
	expect(t, engine, driver.Queue{Name: "mail", Known: true})
}

func TestAPrefixStandsBeforeAllKeys(t *testing.T) {
	server := storagetest.StartRedis(t)
	f := newFixture(t, server)
	f.Insert("mail", 5) // of another installation
	f.do("SADD", "{rq}:queues", "{rq}:queue:mail")
	f.do("RPUSH", "{rq}:queue:mail", "job")
	f.do("HSET", "{rq}:job:job", "enqueued_at", f.iso(-time.Hour))
	f.do("ZADD", "{rq}:wip:mail", f.seconds(time.Minute), "a")
	f.do("ZADD", "{rq}:scheduled:mail", f.seconds(time.Minute), "b")
	f.do("SADD", "{rq}:workers:mail", "{rq}:worker:one")
	f.do("HSET", "{rq}:worker:one", "birth", f.iso(0))
	engine := redistest.Open(t, rq.Preset.Redis, driver.RedisOptions{Prefix: "{rq}:"}, server.URL())
	queues := redistest.Read(t, engine, driver.Want{}).Queues
	want := driver.Queue{
		Name: "mail", Known: true, Ready: 1, Running: 1, Scheduled: 1, Pool: &driver.Pool{Workers: 1, Capacity: 1},
	}
	if diff := cmp.Diff([]driver.Queue{want}, queues, redistest.ButAges); diff != "" {
		t.Error(diff)
	}
	redistest.Near(t, "oldest", queues[0].Oldest, time.Hour)
}

func TestTheOldestWaitingJobIsTheFirstOfTheList(t *testing.T) {
	f, engine := open(t)
	f.insert("mail", 1, 2*time.Hour)
	f.insert("mail", 3, 5*time.Minute)
	redistest.Near(t, "oldest", redistest.ReadQueue(t, engine, "mail").Oldest, 2*time.Hour)
	f.do("HSET", "rq:job:job-1", "enqueued_at", f.now().Add(-3*time.Hour).UTC().Format("2006-01-02T15:04:05Z")) // before RQ 0.12
	redistest.Near(t, "oldest", redistest.ReadQueue(t, engine, "mail").Oldest, 3*time.Hour)
}

func TestTimesThatAreNoneHideNoJob(t *testing.T) {
	f, engine := open(t)
	f.Insert("mail", 1)
	f.do("HSET", "rq:job:job-1", "enqueued_at", "yesterday")
	f.do("ZADD", "rq:scheduled:mail", "-inf", "a", "-5", "b", "+inf", "c", "1e300", "d")
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 3, Scheduled: 2})
	if got.Oldest != 0 || got.NextDue != 0 {
		t.Errorf("oldest = %s, next due = %s, want both unknown", got.Oldest, got.NextDue)
	}
	f.do("DEL", "rq:job:job-1") // an expired job stays in the list until a worker comes upon it
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 3, Scheduled: 2})
}

func TestWorkersThatDiedAreNone(t *testing.T) {
	f, engine := open(t)
	f.work("mail", "one")
	f.work("mail", "two")
	f.work("images", "three")
	f.work("mail", "stopped")
	f.do("HSET", "rq:worker:stopped", "death", f.iso(0))
	f.do("SADD", "rq:workers:mail", "rq:worker:expired")
	want := &driver.Pool{Workers: 2, Capacity: 2}
	if diff := cmp.Diff(want, redistest.ReadQueue(t, engine, "mail").Pool); diff != "" {
		t.Error(diff)
	}
}

func TestAKeyOfAnotherTypeIsAnErrorThatNamesIt(t *testing.T) {
	f, engine := open(t)
	f.Insert("mail", 1)
	f.do("SET", "rq:scheduled:mail", "x")
	redistest.Fails(t, engine, driver.Want{Queue: "mail"}, driver.Schema, "rq:scheduled:mail")
}

func TestTheCommandsAreTheReviewedOnes(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	f.now = redistest.Noon
	f.Schedule("mail", 1, -time.Minute)
	f.Orphan("mail", 1, time.Hour)
	f.Insert("mail", 1)
	f.work("mail", "one")
	ask := driver.RedisAsk{Queue: "mail", Now: redistest.Noon(), Lookahead: time.Minute}
	redistest.Golden(t, f.server, rq.Preset.Redis, ask)
}

func TestTheDocumentedUserSuffices(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	f.Insert("mail", 2)
	f.Schedule("mail", 1, -time.Hour)
	f.Run("mail", 3)
	f.work("mail", "one")
	redistest.LeastPrivilege(t, f.server, rq.Preset.Redis, driver.RedisOptions{}, []driver.Queue{
		{Name: "mail", Known: true, Ready: 3, Running: 3, Oldest: time.Hour, Pool: &driver.Pool{Workers: 1, Capacity: 1}},
		{Name: "nobody", Pool: &driver.Pool{}},
	}, driver.Want{}, driver.Want{Queue: "mail"}, driver.Want{Queue: "nobody"})
}

func TestWorkersThatMayNotBeSeenAreUnknownAndNotNone(t *testing.T) {
	server := storagetest.StartRedis(t)
	f := newFixture(t, server)
	f.Insert("mail", 1)
	f.work("mail", "one")
	url := redistest.User(t, server)
	for _, command := range []string{"hmget", "smembers"} {
		server.Do(t, "ACL", "SETUSER", "leadsman", "-"+command)
		got := redistest.ReadQueue(t, redistest.Open(t, rq.Preset.Redis, driver.RedisOptions{}, url), "mail")
		if got.Ready != 1 || got.Pool != nil {
			t.Errorf("without %s: ready = %d, pool = %+v; want 1 and unknown", command, got.Ready, got.Pool)
		}
	}
}
