package sidekiq_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/sidekiq"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

var (
	preset    = sidekiq.Preset.Redis
	abilities = storagetest.Abilities{
		Everything: true, Lookahead: true, Paused: true, Retries: true, Orphans: true, Exact: true, Armed: true,
	}
)

func TestSidekiqKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(preset, driver.RedisOptions{}, newFixture, abilities))
}

// on returns a fixture and an engine on a server.
func on(t *testing.T, options driver.RedisOptions) (fixture, *redis.Engine) {
	t.Helper()
	f, engine := redistest.Start(t, preset, options, newFixture)
	f.Prefix = options.Prefix
	return f, engine
}

// expect reads a queue and compares it, but for ages and workers.
func expect(t *testing.T, engine driver.Reader, want driver.Queue) driver.Queue {
	t.Helper()
	return redistest.Expect(t, engine, want, redistest.ButWorkers)
}

// plan reads a queue at this moment and returns the commands, too.
func plan(t *testing.T, f fixture, queue string, activity bool) (driver.Queue, string) {
	t.Helper()
	var commands strings.Builder
	ask := driver.RedisAsk{Queue: queue, Now: time.Now(), Activity: activity}
	return redistest.Plan(t, f.Server, preset, ask, &commands), commands.String()
}

// Case 45: workers promote due jobs, and at zero workers nobody does.
func TestDueJobsAreReadyAtZeroWorkers(t *testing.T) {
	f, engine := on(t, driver.RedisOptions{})
	f.Do("ZADD", "schedule", at(-time.Minute), f.job("mail", nil), at(time.Hour), f.job("mail", nil))
	f.Do("ZADD", "retry", at(-time.Hour), f.job("mail", nil))
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2, Scheduled: 1})
	redistest.Near(t, "oldest", got.Oldest, time.Hour)
	redistest.Near(t, "next due", got.NextDue, time.Hour)
}

// Case 46: the set of queues only ever grows.
func TestReadsTouchTheWantedQueueOnlyOfFiftyThousand(t *testing.T) {
	f, engine := on(t, driver.RedisOptions{})
	f.Insert("mail", 3)
	names := make([]string, 50_000)
	for i := range names {
		names[i] = fmt.Sprintf("tenant-%d", i)
	}
	f.Do("SADD", "queues", names...)
	if got := redistest.ReadQueue(t, engine, "mail").Ready; got != 3 {
		t.Errorf("ready = %d, want 3", got)
	}
	_, commands := plan(t, f, "mail", false)
	if strings.Contains(commands, "tenant") || strings.Contains(commands, "SSCAN") || strings.Contains(commands, "SMEMBERS queues") {
		t.Errorf("other queues were read:\n%s", commands)
	}
	listed, commands := list(t, f)
	if len(listed) != len(names)+1 {
		t.Errorf("%d queues were listed, want %d", len(listed), len(names)+1)
	}
	if pages := strings.Count(commands, "SSCAN queues"); pages < 40 {
		t.Errorf("the list was read in %d pages, want about 50", pages)
	}
}

// list plans the names of all queues.
func list(t *testing.T, f fixture) (names map[string]bool, commands string) {
	t.Helper()
	var b strings.Builder
	names = map[string]bool{}
	lister := *preset
	lister.Queue = func(r *driver.RedisReads, ask *driver.RedisAsk, _ *driver.Queue) {
		preset.List(r, &ask.RedisOptions, func(name string) { names[name] = true })
	}
	redistest.Plan(t, f.Server, &lister, driver.RedisAsk{RedisOptions: driver.RedisOptions{Prefix: f.Prefix}}, &b)
	return names, b.String()
}

func TestListNamesQueuesThatNeverHadAJob(t *testing.T) {
	f, _ := on(t, driver.RedisOptions{})
	f.Insert("had", 1)
	f.Schedule("later", 1, time.Hour)
	f.Fail("failed", 1, time.Hour)
	f.Pause("paused")
	f.start(worker{info: sidekiq8(5, "served", "had"), threads: 5})
	f.start(worker{info: sidekiq8(5, "forgotten"), threads: 5, expired: true})
	got, _ := list(t, f)
	want := map[string]bool{"had": true, "later": true, "failed": true, "paused": true, "served": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAQueueThatAProcessWaitsForIsKnown(t *testing.T) {
	f, engine := on(t, driver.RedisOptions{})
	f.start(worker{info: sidekiq8(5, "mail"), threads: 5})
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true, Pool: &driver.Pool{Workers: 1, Capacity: 5}})
}

func TestNamespacesOfSidekiq6ArePrefixes(t *testing.T) {
	options := driver.RedisOptions{Prefix: "app:"}
	f, engine := on(t, options)
	f.Insert("mail", 2)
	f.Schedule("mail", 1, -time.Minute)
	f.Fail("mail", 1, time.Hour)
	f.Run("mail", 3)
	other := newFixture(t, f.Server)
	other.Insert("mail", 40)
	other.Pause("mail")
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 3, Running: 3, Scheduled: 1})
}

func TestOldestReadsEveryFormOfTime(t *testing.T) {
	f, engine := on(t, driver.RedisOptions{})
	then := time.Now().Add(-time.Hour)
	for queue, enqueued := range map[string]any{
		"seconds": float64(then.UnixMicro()) / 1e6, "milliseconds": then.UnixMilli(), "text": fmt.Sprint(then.Unix()),
		"iso": then.UTC().Format(time.RFC3339Nano), "iso with a zone": then.In(time.FixedZone("", 7200)).Format(time.RFC3339),
	} {
		f.push(queue, f.job(queue, map[string]any{"enqueued_at": enqueued}))
		f.Insert(queue, 1)
		redistest.Near(t, queue, redistest.ReadQueue(t, engine, queue).Oldest, time.Hour)
	}
	f.push("born", f.job("born", map[string]any{"created_at": then.UnixMilli()}))
	redistest.Near(t, "born", redistest.ReadQueue(t, engine, "born").Oldest, time.Hour)
}

func TestMalformedJobsCountAndHaveNoAge(t *testing.T) {
	f, engine := on(t, driver.RedisOptions{})
	for queue, job := range map[string]string{
		"empty": "", "torn": `{"queue":"to`, "list": "[1]", "binary": "\x04\x08{\x00\xff",
		"ages": `{"enqueued_at":"soon","created_at":-5}`, "early": `{"enqueued_at":9e99}`,
	} {
		f.push(queue, job)
		redistest.Expect(t, engine, driver.Queue{Name: queue, Known: true, Ready: 1, Pool: &driver.Pool{}})
	}
}

// Case 33: a prefix or a name that is wrong reads as an empty queue for ever; the condition says which there are.
func TestAnUnknownQueueIsSaidToBe(t *testing.T) {
	f, engine := on(t, driver.RedisOptions{})
	f.Insert("mail", 1)
	f.Do("LPUSH", "queue:sq|web:1:0123456789ab|mail", "{}")
	f.Prefix = "app:"
	f.Insert("images", 1)
	notes := redistest.Unknown(t, engine, "mial", `"mial"`, `"mail"`, `"app:queue:images"`)
	if strings.Contains(notes, "sq|") {
		t.Errorf("the conditions %q name a process' own list", notes)
	}
}

// The least privilege that the README documents suffices, for named queues and for all.
func TestTheDocumentedUserMayReadAll(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	f.Insert("mail", 2)
	f.Schedule("mail", 1, time.Hour)
	f.start(worker{info: sidekiq8(5, "mail", "other"), threads: 5, work: map[string]int{"mail": 1, "other": 1}})
	pool := &driver.Pool{Workers: 1, Capacity: 5}
	redistest.LeastPrivilege(t, f.Server, preset, driver.RedisOptions{}, []driver.Queue{
		{Name: "mail", Known: true, Ready: 2, Running: 1, Scheduled: 1, NextDue: time.Hour, Pool: pool},
		{Name: "other", Known: true, Running: 1, Pool: pool},
	}, driver.Want{Queue: "mail"}, driver.Want{})
}

func TestCommandsAreTheReviewedOnes(t *testing.T) {
	f, _ := on(t, driver.RedisOptions{})
	f.Insert("mail", 1)
	now := time.UnixMicro(1_796_000_000_250_000)
	for identity, info := range map[string]map[string]any{
		"mail-1:1:0123456789ab": sidekiq8(5, "mail"),
		"all-1:1:0123456789ab":  sidekiq8(5, "mail", "images"),
		"old-1:1:0123456789ab":  sidekiq6(5, "mail", "images"),
		"img-1:1:0123456789ab":  sidekiq8(5, "images"),
	} {
		f.start(worker{identity: identity, info: info, work: map[string]int{"mail": 2}, beat: time.Until(now)})
	}
	redistest.Golden(t, f.Server, preset,
		driver.RedisAsk{Queue: "mail", Now: now}, driver.RedisAsk{Queue: "idle", Now: now, Lookahead: time.Minute})
}
