package redisstream_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/redisstream"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

var abilities = storagetest.Abilities{Immediate: true}

func TestStreamsKeepTheContracts(t *testing.T) {
	for name, options := range map[string]driver.RedisOptions{"all groups": {}, "one group": {Group: "workers"}} {
		t.Run(name, func(t *testing.T) {
			storagetest.Run(t, redistest.Harness(redisstream.Preset.Redis, options, newFixture, abilities))
		})
	}
}

// open starts a server and returns a fixture and an engine of it.
func open(t *testing.T, options driver.RedisOptions) (fixture, *redis.Engine) {
	t.Helper()
	return redistest.Start(t, redisstream.Preset.Redis, options, newFixture)
}

// compared leaves out how long entries wait. None is for later.
var compared = cmpopts.IgnoreFields(driver.Queue{}, "Oldest")

func expect(t *testing.T, engine driver.Reader, want driver.Queue) driver.Queue {
	t.Helper()
	return redistest.Expect(t, engine, want, compared)
}

func read(t *testing.T, engine driver.Reader, queue string) driver.Reading {
	t.Helper()
	return redistest.Read(t, engine, driver.Want{Queue: queue})
}

func TestEachGroupHasToGetEachEntry(t *testing.T) {
	server := storagetest.StartRedis(t)
	f := newFixture(t, server)
	f.Insert("mail", 5)
	f.do("XGROUP", "CREATE", "mail", "audit", "0")
	f.take("mail", 3)
	for group, want := range map[string]driver.Queue{
		"":        {Name: "mail", Known: true, Ready: 7, Running: 3},
		"workers": {Name: "mail", Known: true, Ready: 2, Running: 3},
		"audit":   {Name: "mail", Known: true, Ready: 5},
	} {
		engine := redistest.Open(t, redisstream.Preset.Redis, driver.RedisOptions{Group: group}, server.URL())
		expect(t, engine, want)
	}
}

func TestTheOldestIsTheFirstEntryThatWasNotDelivered(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	at := func(age time.Duration) string { return fmt.Sprint(time.Now().Add(-age).UnixMilli()) }
	f.do("XGROUP", "CREATE", "mail", "workers", "0", "MKSTREAM")
	for _, id := range []string{at(3*time.Hour) + "-0", at(2*time.Hour) + "-7", at(time.Hour) + "-0"} {
		f.do("XADD", "mail", id, "k", "v")
	}
	f.take("mail", 1)
	redistest.Near(t, "oldest", expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2, Running: 1}).Oldest, 2*time.Hour)

	f.do("XGROUP", "CREATE", "numbered", "workers", "0", "MKSTREAM")
	f.do("XADD", "numbered", "17-1", "k", "v")
	if got := expect(t, engine, driver.Queue{Name: "numbered", Known: true, Ready: 1}); got.Oldest != 0 {
		t.Errorf("oldest = %s by an id that is no time, want unknown", got.Oldest)
	}
}

// A server before 7.4 counts entries that were trimmed before anybody got them in the group's lag for ever.
func TestEntriesTrimmedBeforeAnybodyGotThemDoNotCount(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	f.Run("mail", 3)
	f.Insert("mail", 100)
	f.do("XTRIM", "mail", "MAXLEN", "2")
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2, Running: 3})
	f.take("mail", 100)
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Running: 5})
	f.Insert("mail", 20)
	if q := read(t, engine, "mail").Queues[0]; q.Ready < 20 || q.Ready > 22 {
		t.Errorf("ready = %d, want 20, or at most as many as there are entries", q.Ready)
	}
}

// After XDEL the server does not know how many there are.
func TestEntriesAreCountedWhereTheServerDoesNotKnow(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	f.Finish("mail", 3)
	ids := f.add("mail", 30)
	f.do("XDEL", "mail", ids[15])
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 29})
	f.Insert("mail", 1500)
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1000, Saturated: true})
	f.take("mail", 525)
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1000, Running: 525, Saturated: true})
	f.take("mail", 1000)
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 4, Running: 1525})

	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: "mail"}}, Limit: 2, Activity: true})
	if err != nil || reading.Queues[0].Ready != 4 {
		t.Errorf("few, with a limit: %+v, %v, want 4", reading, err)
	}
}

func TestWhatWasAcknowledgedOrDeletedIsDone(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	f.Finish("mail", 5)
	expect(t, engine, driver.Queue{Name: "mail", Known: true})
	f.do("XTRIM", "mail", "MAXLEN", "0")
	expect(t, engine, driver.Queue{Name: "mail", Known: true})
	f.Run("mail", 2)
	f.do("XTRIM", "mail", "MAXLEN", "0") // entries that are being worked on go on being
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Running: 2})
}

// What a worker takes between two reads must not be seen in neither.
func TestAnEntryOnItsWayToAWorkerIsSeen(t *testing.T) {
	server := storagetest.StartRedis(t)
	f := newFixture(t, server)
	f.Insert("mail", 1)
	ask := driver.RedisAsk{Queue: "mail", Now: time.Now()}
	q := driver.Queue{Name: "mail"}
	reads := driver.NewRedisReads()
	redisstream.Preset.Redis.Queue(reads.For(0), &ask, &q)
	for n := 0; ; n++ {
		round := reads.Round()
		if len(round) == 0 {
			break
		}
		for _, reply := range round {
			if n == 1 {
				f.take("mail", 1) // between the rounds
			}
			command := append(append(strings.Fields(reply.Command), reply.Key), reply.Args...)
			value, err := server.Do(t, command...).ToAny()
			if err != nil {
				t.Fatal(err)
			}
			reply.Value = value
		}
		reads.Settle(round)
	}
	if err := reads.Failed(0); err != nil || q.Ready+q.Running != 1 {
		t.Errorf("ready, running = %d, %d, %v, want 1 in one of them", q.Ready, q.Running, err)
	}
}

func TestAMissingGroupIsSaid(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{Group: "wrokers"})
	f.Insert("mail", 2)
	redistest.Unknown(t, engine, "mail", `no consumer group "wrokers"`)

	f, engine = open(t, driver.RedisOptions{})
	f.do("XADD", "mail", "*", "k", "v")
	expect(t, engine, driver.Queue{Name: "mail", Known: true})
	if notes := strings.Join(read(t, engine, "mail").Notes, "\n"); !strings.Contains(notes, "has no consumer group") {
		t.Errorf("notes = %q, want that there is no group", notes)
	}
	if notes := redistest.Unknown(t, engine, "nobody"); strings.Contains(notes, "mail") {
		t.Errorf("notes = %q: without a prefix any key could be shown", notes)
	}
}

// Case 33.
func TestAPrefixMakesNearNamesKnown(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{Prefix: "jobs[1]:"})
	f.Insert("jobs[1]:mail", 2)
	f.do("SET", "session:secret", "x")
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2})
	if notes := redistest.Unknown(t, engine, "mial", `"mail"`); strings.Contains(notes, "secret") {
		t.Errorf("notes = %q, want the queue that there is and nothing else", notes)
	}
}

func TestAKeyOfAnotherTypeIsAnErrorThatNamesIt(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	f.do("LPUSH", "mail", "x")
	redistest.Fails(t, engine, driver.Want{Queue: "mail"}, driver.Schema, `"mail"`)
}

func TestEveryQueueIsThoseThatTheSourceNames(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{Queues: []string{"mail", "nobody"}})
	f.Insert("mail", 1)
	f.Insert("unnamed", 1)
	want := []driver.Queue{{Name: "mail", Known: true, Ready: 1}}
	if diff := cmp.Diff(want, redistest.Read(t, engine, driver.Want{}).Queues, compared); diff != "" {
		t.Error(diff)
	}
}

func TestTheCommandsAreTheReviewedOnes(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	f.do("XGROUP", "CREATE", "mail", "workers", "0", "MKSTREAM")
	for i := range 20 {
		f.do("XADD", "mail", fmt.Sprintf("1796000000000-%d", i), "k", "v")
	}
	f.take("mail", 2)
	f.do("XDEL", "mail", "1796000000000-9")
	ask := driver.RedisAsk{Queue: "mail", Now: time.UnixMilli(1_796_000_000_000)}
	redistest.Golden(t, f.server, redisstream.Preset.Redis, ask)
}

func TestTheDocumentedUserSuffices(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	f.Run("jobs:mail", 3)
	ids := f.add("jobs:mail", 20)
	f.do("XDEL", "jobs:mail", ids[9])
	options := driver.RedisOptions{Prefix: "jobs:", Group: "workers"}
	want := []driver.Queue{{Name: "mail", Known: true, Ready: 19, Running: 3}}
	redistest.LeastPrivilege(t, f.server, redisstream.Preset.Redis, options, want, driver.Want{Queue: "mail"})
}
