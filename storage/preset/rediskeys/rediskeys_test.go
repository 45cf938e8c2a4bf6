package rediskeys_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/rediskeys"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

var abilities = storagetest.Abilities{Lookahead: true, Retries: true}

func TestTheREADMEsExampleKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(rediskeys.Preset.Redis, beeQueue, newFixture, abilities))
}

// open starts a server and returns a fixture and an engine that reads by the keys.
func open(t *testing.T, keys ...driver.RedisKey) (fixture, *redis.Engine) {
	t.Helper()
	return redistest.Start(t, rediskeys.Preset.Redis, driver.RedisOptions{Keys: keys}, newFixture)
}

// expect reads a queue and compares it, but for ages.
func expect(t *testing.T, engine driver.Reader, want driver.Queue) driver.Queue {
	t.Helper()
	return redistest.Expect(t, engine, want, redistest.ButAges)
}

// Case 32: the types are the source's word, so that nothing is asked for them, and a key that comes and goes is never
// of another type.
func TestElementsOfEachTypeCount(t *testing.T) {
	f, engine := open(
		t,
		driver.RedisKey{Key: "{queue}:list", Type: "list", State: "ready"},
		driver.RedisKey{Key: "{queue}:zset", Type: "zset", State: "ready"},
		driver.RedisKey{Key: "{queue}:stream", Type: "stream", State: "ready"},
		driver.RedisKey{Key: "{queue}:set", Type: "set", State: "running"},
		driver.RedisKey{Key: "{queue}:hash", Type: "hash", State: "scheduled"},
	)
	f.do("RPUSH", "mail:list", "a")
	f.do("ZADD", "mail:zset", "5", "urgent", "-1", "b")
	f.do("XADD", "mail:stream", "*", "k", "v")
	f.do("SADD", "mail:set", "a", "b", "c", "d")
	f.do("HSET", "mail:hash", "a", "1", "b", "2", "c", "3")
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 4, Running: 4, Scheduled: 3})
	f.do("ZREM", "mail:zset", "urgent", "b")
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2, Running: 4, Scheduled: 3})
	f.do("XADD", "empty:stream", "MAXLEN", "0", "*", "k", "v")
	expect(t, engine, driver.Queue{Name: "empty", Known: true})
}

func TestScoresAreTimesInTheirUnit(t *testing.T) {
	for unit, of := range map[string]time.Duration{
		"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond,
	} {
		t.Run(unit, func(t *testing.T) {
			f, engine := open(t, driver.RedisKey{Key: "{queue}", Type: "zset", State: "scheduled", Unit: unit})
			f.do("ZADD", "mail", f.at(-time.Hour, of), "a", f.at(-time.Minute, of), "b", f.at(2*time.Hour, of), "c", "+inf", "never")
			got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2, Scheduled: 2})
			redistest.Near(t, "oldest", got.Oldest, time.Hour)
			redistest.Near(t, "next due", got.NextDue, 2*time.Hour)
		})
	}
}

// A job of one set until it is done, as arq has it.
func TestAReadySetWithAUnitHoldsLaterJobsToo(t *testing.T) {
	f, engine := open(t, driver.RedisKey{Key: "{queue}", Type: "zset", State: "ready", Unit: "ms"})
	f.do("ZADD", "arq:queue", f.at(-time.Minute, time.Millisecond), "a", f.at(time.Hour, time.Millisecond), "b")
	got := expect(t, engine, driver.Queue{Name: "arq:queue", Known: true, Ready: 1, Scheduled: 1})
	redistest.Near(t, "next due", got.NextDue, time.Hour)
}

func TestARunningSetWithAUnitHoldsLeases(t *testing.T) {
	f, engine := open(
		t,
		driver.RedisKey{Key: "jobs:{{queue}}", Type: "list", State: "ready"},
		driver.RedisKey{Key: "leases:{{queue}}", Type: "zset", State: "running", Unit: "s"},
	)
	f.do("ZADD", "leases:{mail}", f.at(time.Minute, time.Second), "a", f.at(10*time.Minute, time.Second), "b", f.at(-time.Hour, time.Second), "lost")
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1, Running: 2})
	redistest.Near(t, "oldest", got.Oldest, time.Hour)
	if got.NextDue != 0 {
		t.Errorf("next due = %s, want none: a lease's end is no job", got.NextDue)
	}
	want := driver.Want{Queue: "mail", Lookahead: time.Hour} // makes no lease end
	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{want}})
	if err != nil || reading.Queues[0].Running != 2 {
		t.Errorf("with a lookahead: %+v, %v, want 2 running", reading, err)
	}
}

func TestTheOldestOfAStreamIsItsFirstEntry(t *testing.T) {
	f, engine := open(t, driver.RedisKey{Key: "{queue}", Type: "stream", State: "ready"})
	f.do("XADD", "mail", f.at(-time.Hour, time.Millisecond)+"-3", "k", "v")
	f.do("XADD", "mail", "*", "k", "v")
	redistest.Near(t, "oldest", expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2}).Oldest, time.Hour)
}

func TestAWrongUnitIsAnErrorOrSaidAndNeverANothing(t *testing.T) {
	f, engine := open(t, driver.RedisKey{Key: "{queue}", Type: "zset", State: "scheduled", Unit: "s"})
	f.do("ZADD", "mail", f.at(-time.Hour, time.Millisecond), "due")
	redistest.Fails(t, engine, driver.Want{Queue: "mail"}, driver.Schema, `key "mail"`, "keys[0].unit")

	f, engine = open(t, driver.RedisKey{Key: "{queue}", Type: "zset", State: "scheduled", Unit: "ms"})
	f.do("ZADD", "mail", f.at(time.Hour, time.Second), "later")
	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: "mail"}}})
	if err != nil || reading.Queues[0].Ready != 1 || len(reading.Notes) != 1 || !strings.Contains(reading.Notes[0], "look like s and not ms") {
		t.Errorf("seconds read as milliseconds: %+v, %v, want one ready and a note", reading, err)
	}
}

func TestAKeyOfAnotherTypeIsAnErrorThatNamesIt(t *testing.T) {
	f, engine := open(t, driver.RedisKey{Key: "{queue}", Type: "list", State: "ready"})
	f.do("ZADD", "mail", "1", "a")
	redistest.Fails(t, engine, driver.Want{Queue: "mail"}, driver.Schema, `"mail"`, "LLEN")
}

// Case 33.
func TestAnUnknownQueueIsZeroAndNearNamesAreSaid(t *testing.T) {
	f, engine := redistest.Start(t, rediskeys.Preset.Redis, beeQueue, newFixture)
	f.Insert("jobs", 1)
	f.Insert("two:parts*", 1)
	redistest.Unknown(t, engine, "default", `"jobs"`, `"two:parts*"`)
}

func TestNamesAreFoundInKeysThatHoldThemTwice(t *testing.T) {
	match, name := rediskeys.Preset.Redis.Near(&driver.RedisOptions{Keys: []driver.RedisKey{
		{Key: "a[{queue}]:running", Type: "set", State: "running"}, {Key: "q[{queue}]:{queue}", Type: "list", State: "ready"},
	}})
	if match != `q\[*]:*` {
		t.Errorf("match = %q", match)
	}
	for key, want := range map[string]string{"q[mail]:mail": "mail", "q[mail]:liam": "", "q[]:": "", "q[": "", "": "", "q[a]:b": ""} {
		if got, ok := name(key); got != want && ok {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

func TestBareNamesShowNoOtherKeys(t *testing.T) {
	f, engine := open(t, driver.RedisKey{Key: "{queue}", Type: "list", State: "ready"})
	f.do("SET", "session:secret", "x")
	if notes := redistest.Unknown(t, engine, "mail"); strings.Contains(notes, "secret") {
		t.Errorf("notes = %q, want no other key's name", notes)
	}
}

func TestEveryQueueIsThoseThatTheSourceNames(t *testing.T) {
	options := beeQueue
	options.Queues = []string{"mail", "nobody"}
	f, engine := redistest.Start(t, rediskeys.Preset.Redis, options, newFixture)
	f.Insert("mail", 1)
	f.Insert("unnamed", 1)
	want := []driver.Queue{{Name: "mail", Known: true, Ready: 1}}
	if diff := cmp.Diff(want, redistest.Read(t, engine, driver.Want{}).Queues); diff != "" {
		t.Error(diff)
	}
}

func TestKeysThatMakeNoSenseAreRefused(t *testing.T) {
	good := driver.RedisKey{Key: "{queue}", Type: "list", State: "ready"}
	for name, tt := range map[string]struct {
		want string
		keys []driver.RedisKey
	}{
		"none":           {"keys: is missing", nil},
		"no placeholder": {`keys[1].key: "jobs" lacks {queue}`, []driver.RedisKey{good, {Key: "jobs", Type: "list", State: "ready"}}},
		"type":           {`keys[0].type: "string" is none of list`, []driver.RedisKey{{Key: "{queue}", Type: "string", State: "ready"}}},
		"state":          {`keys[0].state: "" is none of scheduled`, []driver.RedisKey{{Key: "{queue}", Type: "list"}}},
		"no unit":        {"keys[0].unit: is missing", []driver.RedisKey{{Key: "{queue}", Type: "zset", State: "scheduled"}}},
		"odd unit":       {`keys[0].unit: "h" is none of s`, []driver.RedisKey{{Key: "{queue}", Type: "zset", State: "ready", Unit: "h"}}},
		"list's unit":    {"keys[0].unit: is of the scores of a zset", []driver.RedisKey{{Key: "{queue}", Type: "list", State: "ready", Unit: "s"}}},
		"twice":          {"keys[1].key: \"{queue}\" is there twice", []driver.RedisKey{good, good}},
		"running only":   {"keys: none is ready", []driver.RedisKey{{Key: "{queue}", Type: "list", State: "running"}}},
		"good":           {"", []driver.RedisKey{good}},
	} {
		err := rediskeys.Preset.Redis.Check(&driver.RedisOptions{Keys: tt.keys})
		if got := fmt.Sprint(err); err == nil && tt.want != "" || err != nil && (tt.want == "" || !strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

func TestTheCommandsAreTheReviewedOnes(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	now := redistest.Noon().Add(500 * time.Millisecond)
	f.now = func() time.Time { return now }
	f.Schedule("mail", 1, -time.Minute)
	f.Insert("mail", 1)
	ask := driver.RedisAsk{RedisOptions: beeQueue, Queue: "mail", Now: now, Lookahead: time.Minute}
	redistest.Golden(t, f.server, rediskeys.Preset.Redis, ask)
}

func TestTheDocumentedUserSuffices(t *testing.T) {
	f := newFixture(t, storagetest.StartRedis(t))
	f.Insert("mail", 2)
	f.Schedule("mail", 1, -2*time.Hour)
	f.Schedule("mail", 1, time.Hour)
	f.Run("mail", 3)
	options := beeQueue
	for _, kind := range []string{"zset", "set", "hash", "stream"} {
		options.Keys = append(options.Keys, driver.RedisKey{Key: "bq:{queue}:" + kind, Type: kind, State: "ready"})
	}
	redistest.LeastPrivilege(t, f.server, rediskeys.Preset.Redis, options, []driver.Queue{{
		Name: "mail", Known: true, Ready: 3, Running: 3, Scheduled: 1, Oldest: 2 * time.Hour, NextDue: time.Hour,
	}}, driver.Want{Queue: "mail"})
}
