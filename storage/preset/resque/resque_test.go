package resque_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/resque"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

var (
	preset    = resque.Preset.Redis
	abilities = storagetest.Abilities{Everything: true, Lookahead: true, Retries: true, Orphans: true, Exact: true, Armed: true}
)

func TestResqueKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(preset, driver.RedisOptions{}, newFixture, abilities))
}

// on returns a fixture and an engine on a server.
func on(t *testing.T) (fixture, *redis.Engine) {
	t.Helper()
	return redistest.Start(t, preset, driver.RedisOptions{}, newFixture)
}

// expect reads a queue and compares it, but for ages and workers.
func expect(t *testing.T, engine driver.Reader, want driver.Queue) driver.Queue {
	t.Helper()
	return redistest.Expect(t, engine, want, redistest.ButWorkers)
}

// plan reads the queue mail at this moment and returns the commands, too.
func plan(t *testing.T, f fixture, activity bool) (driver.Queue, string) {
	t.Helper()
	var commands strings.Builder
	ask := driver.RedisAsk{RedisOptions: preset.Defaults, Queue: "mail", Now: time.Now(), Activity: activity}
	return redistest.Plan(t, f.Server, preset, ask, &commands), commands.String()
}

// Case 45: a scheduler promotes due jobs, and where it does not run, nobody does.
func TestDueJobsAreReady(t *testing.T) {
	f, engine := on(t)
	f.Schedule("mail", 1, -time.Minute)
	f.Schedule("mail", 1, -time.Hour)
	f.Schedule("mail", 3, time.Hour)
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2, Scheduled: 3})
	redistest.Near(t, "oldest", got.Oldest, time.Hour)
	redistest.Near(t, "next due", got.NextDue, time.Hour)
}

// Case 46: the set of queues only ever grows.
func TestReadsTouchTheWantedQueueOnlyOfFiftyThousand(t *testing.T) {
	f, engine := on(t)
	f.Insert("mail", 3)
	names := make([]string, 50_000)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%d", i)
	}
	f.Do("SADD", "queues", names...)
	if got := redistest.ReadQueue(t, engine, "mail").Ready; got != 3 {
		t.Errorf("ready = %d, want 3", got)
	}
	_, commands := plan(t, f, false)
	if strings.Contains(commands, "tenant") || strings.Contains(commands, "SSCAN") || strings.Contains(commands, "SMEMBERS resque:queues") {
		t.Errorf("other queues were read:\n%s", commands)
	}
	var b strings.Builder
	listed := map[string]bool{}
	lister := *preset
	lister.Queue = func(r *driver.RedisReads, ask *driver.RedisAsk, _ *driver.Queue) {
		preset.List(r, &ask.RedisOptions, func(name string) { listed[name] = true })
	}
	redistest.Plan(t, f.Server, &lister, driver.RedisAsk{RedisOptions: preset.Defaults}, &b)
	if len(listed) != len(names)+1 {
		t.Errorf("%d queues were listed, want %d", len(listed), len(names)+1)
	}
	if pages := strings.Count(b.String(), "SSCAN resque:queues"); pages < 40 {
		t.Errorf("the list was read in %d pages, want about 50", pages)
	}
}

func TestNothingIsReadyWhileAllWorkersArePaused(t *testing.T) {
	f, engine := on(t)
	f.Insert("mail", 3)
	f.Schedule("mail", 2, -time.Minute)
	f.Schedule("mail", 1, time.Hour)
	f.Do("SET", "pause-all-workers", " True\n")
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Paused: true, Scheduled: 1})
	if got.Oldest != 0 {
		t.Errorf("oldest = %s, and nothing is ready", got.Oldest)
	}
	f.Do("SET", "pause-all-workers", "false")
	if got := redistest.ReadQueue(t, engine, "mail"); got.Ready != 5 || got.Paused {
		t.Errorf("after the pause: %+v, want 5 ready", got)
	}
}

func TestReadsByThePrefixOfTheSource(t *testing.T) {
	server := storagetest.StartRedis(t)
	f := newFixture(t, server)
	f.Insert("mail", 40)
	f.Prefix = "resque:app:"
	f.Insert("mail", 2)
	f.Schedule("mail", 1, -time.Minute)
	f.Run("mail", 3)
	engine := redistest.Open(t, preset, driver.RedisOptions{Prefix: "resque:app:"}, server.URL())
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 3, Running: 3})
}

// Case 33: a prefix or a name that is wrong reads as an empty queue for ever; the condition says which there are.
func TestAnUnknownQueueIsSaidToBe(t *testing.T) {
	f, engine := on(t)
	f.Insert("mail", 1)
	f.Prefix = "other:"
	f.Insert("images", 1)
	redistest.Unknown(t, engine, "mial", `"mial"`, `"resque:"`, `"mail"`, `"other:queue:images"`)
}

// The least privilege that the README documents suffices, for named queues and for all.
func TestTheDocumentedUserMayReadAll(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	f.Insert("mail", 2)
	f.Schedule("mail", 1, time.Hour)
	f.Run("mail", 1)
	f.start(worker{queues: "mail"})
	redistest.LeastPrivilege(t, f.Server, preset, driver.RedisOptions{}, []driver.Queue{{
		Name: "mail", Known: true, Ready: 2, Running: 1, Scheduled: 1, NextDue: time.Hour, Pool: &driver.Pool{Workers: 2, Capacity: 2},
	}}, driver.Want{Queue: "mail"}, driver.Want{})
}

func TestCommandsAreTheReviewedOnes(t *testing.T) {
	f, _ := on(t)
	now := time.UnixMicro(1_796_000_000_250_000)
	f.Insert("mail", 1)
	job := redistest.JSON(t, map[string]any{"class": "Work", "args": []int{1}, "queue": "idle"})
	f.delay(now.Add(-time.Minute), job)
	f.delay(now.Add(time.Hour), job, job, job)
	beat := now.UTC().Format(time.RFC3339)
	f.start(worker{queues: "mail,images", runs: "mail", since: beat, beat: beat})
	f.start(worker{queues: "*"})
	f.start(worker{queues: "images", runs: "images", since: beat})
	redistest.Golden(t, f.Server, preset,
		driver.RedisAsk{Queue: "mail", Now: now}, driver.RedisAsk{Queue: "idle", Now: now, Lookahead: time.Minute})
}
