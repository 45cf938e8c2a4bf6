package flexiq_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/flexiq"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// FlexiQ keeps no list of its queues in Redis. Its running jobs stop counting when no worker of the queue is alive, and
// not one by one, which is what the suite's ability is about.
var redisAbilities = storagetest.Abilities{Lookahead: true, Paused: true, Retries: true}

func TestFlexiQOnRedisKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(flexiq.Preset.Redis, driver.RedisOptions{}, newRedisFixture, redisAbilities))
}

func onRedis(t *testing.T) (redisFixture, *redis.Engine) {
	t.Helper()
	return redistest.Start(t, flexiq.Preset.Redis, driver.RedisOptions{}, newRedisFixture)
}

func expectRedis(t *testing.T, engine driver.Reader, want driver.Queue) driver.Queue {
	t.Helper()
	return redistest.Expect(t, engine, want, redistest.ButWorkers)
}

// Older releases took any number for a priority.
func TestDueJobsOfEachPriorityAreReadyWithoutAWorker(t *testing.T) {
	f, engine := onRedis(t)
	for i, priority := range []int64{0, 1, 5, 999, 5000, -3} {
		f.add("mail", priority, -time.Duration(i+1)*time.Hour)
		f.add("mail", priority, time.Duration(i+2)*time.Hour)
		f.add("mail", priority, 24*time.Hour)
	}
	got := expectRedis(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 6, Scheduled: 12})
	redistest.Near(t, "oldest", got.Oldest, 6*time.Hour)
	redistest.Near(t, "next due", got.NextDue, 2*time.Hour)
}

func TestAJobIsDueToTheMillisecondOrTwo(t *testing.T) {
	f := newRedisFixture(t, storagetest.StartRedis(t))
	now := redistest.Noon().Add(time.Millisecond)
	f.now = func() time.Time { return now }
	f.add("mail", 0, 0)
	f.add("mail", 0, 3*time.Millisecond)
	f.add("mail", 500, 0)
	f.add("mail", 500, time.Millisecond)
	ask := driver.RedisAsk{RedisOptions: flexiq.Preset.Redis.Defaults, Queue: "mail", Now: now}
	got := redistest.Plan(t, f.server, flexiq.Preset.Redis, ask, &strings.Builder{})
	if got.Ready != 2 || got.Scheduled != 2 || got.NextDue != time.Millisecond {
		t.Errorf("ready, scheduled = %d, %d, next due = %s; want 2, 2, 1ms", got.Ready, got.Scheduled, got.NextDue)
	}
}

func TestJobsOfMorePrioritiesThanAreLookedAtAreReady(t *testing.T) {
	f, engine := onRedis(t)
	for priority := range int64(40) {
		f.add("mail", priority, -time.Minute)
		f.add("mail", priority, time.Hour)
	}
	f.do("ZADD", "flexiq:queue:mail:pending", "-inf", "a", "+inf", "b")
	got := redistest.ReadQueue(t, engine, "mail")
	// Of 33 priorities it is known what is due: one of two. The others have 14, and two are of none.
	if want := int64(33 + 14 + 2); got.Ready != want || got.Scheduled != 33 || !got.Saturated {
		t.Errorf("ready = %d, scheduled = %d, saturated = %t; want %d, 33, true", got.Ready, got.Scheduled, got.Saturated, want)
	}
}

func TestRunningGoesWithTheWorkersOfTheQueue(t *testing.T) {
	f, engine := onRedis(t)
	f.work("mail", 3, time.Minute, 16) // of a dead worker
	f.work("images", 1, 0, 4)
	got := expectRedis(t, engine, driver.Queue{Name: "mail", Known: true})
	if diff := cmp.Diff(&driver.Pool{}, got.Pool); diff != "" {
		t.Error(diff)
	}
	f.do("HSET", "flexiq:worker:odd", "last_heartbeat", "soon", "queues", "mail", "threads", "many")
	f.do("SADD", "flexiq:workers:all", "odd", "gone")
	f.work("mail", 2, 0, 8)
	got = expectRedis(t, engine, driver.Queue{Name: "mail", Known: true, Running: 5})
	if diff := cmp.Diff(&driver.Pool{Workers: 1, Capacity: 8}, got.Pool); diff != "" {
		t.Error(diff)
	}
}

func TestRunningIsNotGuessedWithoutSightOfTheWorkers(t *testing.T) {
	server := storagetest.StartRedis(t)
	newRedisFixture(t, server).Run("mail", 1)
	server.AddUser(t, "blind", "secret", "%R~flexiq:*", "+@read", "-smembers", "+@connection", "+time", "+role", "+multi", "+exec")
	engine := redistest.Open(t, flexiq.Preset.Redis, driver.RedisOptions{}, server.UserURL("blind", "secret"))
	redistest.Fails(t, engine, driver.Want{Queue: "mail"}, driver.Denied)
}

func TestANameWithANamespaceIsAnErrorThatNamesTheQueue(t *testing.T) {
	f, engine := onRedis(t)
	f.Insert("mail", 2)
	f.do("SADD", "flexiq:jobs:by_ns:4:acme", "job-1")
	want := driver.Want{Queue: "acme/mail"}
	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{want, {Queue: "zeta/mail"}, {Queue: "mail"}}})
	if err != nil {
		t.Fatal(err)
	}
	known, ok := errors.AsType[*driver.Error](reading.Failed[want])
	if !ok || known.Kind != driver.Schema || !strings.Contains(known.Message, `name the trigger's queue "mail"`) {
		t.Errorf("failed: %v, want an error that names the queue", reading.Failed)
	}
	byName := cmpopts.SortSlices(func(a, b driver.Queue) bool { return a.Name < b.Name })
	queues := []driver.Queue{{Name: "mail", Known: true, Ready: 2}, {Name: "zeta/mail"}}
	if diff := cmp.Diff(queues, reading.Queues, byName, compared); diff != "" {
		t.Error(diff)
	}
}

// Case 33.
func TestQueuesAreNamedWhenOneIsNotKnown(t *testing.T) {
	f, engine := onRedis(t)
	f.Insert("images", 1)
	redistest.Unknown(t, engine, "image", `there is "images"`)
}

func TestTheCommandsOnRedisAreTheReviewedOnes(t *testing.T) {
	f := newRedisFixture(t, storagetest.StartRedis(t))
	f.now = redistest.Noon
	f.add("mail", 0, -time.Minute)
	ask := driver.RedisAsk{
		RedisOptions: flexiq.Preset.Redis.Defaults, Queue: "mail", Now: redistest.Noon(), Lookahead: time.Minute,
	}
	usual := redistest.Commands(t, f.server, flexiq.Preset.Redis, ask)
	f.add("mail", 5, -time.Minute)
	f.Run("mail", 1)
	other := redistest.Commands(t, f.server, flexiq.Preset.Redis, ask)
	storagetest.Golden(t, filepath.Join("testdata", "commands.golden"),
		fmt.Sprintf("One job.\n\n%s\nTwo jobs, of two priorities, and one that runs.\n\n%s", usual, other))
}

func TestTheDocumentedUserOfRedisSuffices(t *testing.T) {
	f := newRedisFixture(t, storagetest.StartRedis(t))
	f.Insert("mail", 3)
	f.add("mail", 0, -time.Hour)
	f.Run("mail", 3)
	engine := redistest.LeastPrivilege(t, f.server, flexiq.Preset.Redis, driver.RedisOptions{}, []driver.Queue{{
		Name: "mail", Known: true, Ready: 4, Running: 3, Oldest: time.Hour, Pool: &driver.Pool{Workers: 1, Capacity: 3},
	}}, driver.Want{Queue: "mail"})
	redistest.Unknown(t, engine, "acme/nobody", `there is "mail"`)
}

func TestWithoutTrackingFlexiQsOwnAnnouncementsTell(t *testing.T) {
	server := storagetest.StartRedis(t)
	url := redistest.User(t, server)
	server.Do(t, "ACL", "SETUSER", "leadsman", "-client|tracking")
	redistest.Announced(t, redistest.Open(t, flexiq.Preset.Redis, driver.RedisOptions{}, url), map[string]func(string){
		"mail": func(queue string) { server.Do(t, "PUBLISH", "flexiq:notify:-:"+queue, "1795953600000") },
	})
}
