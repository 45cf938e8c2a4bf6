package resque_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/redis"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

func TestAWorkerCountsAsLongAsItBeats(t *testing.T) {
	f, engine := on(t)
	for _, w := range []worker{
		{queues: "mail", runs: "mail", since: rfc(30 * 24 * time.Hour), beat: rfc(4 * time.Minute)}, // a long job
		{queues: "mail", runs: "mail", since: rfc(time.Minute), beat: rfc(6 * time.Minute)},
		{queues: "mail", beat: rfc(0)},
		{queues: "images", runs: "images", since: rfc(0), beat: rfc(0)},
	} {
		f.start(w)
	}
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true, Running: 1, Pool: &driver.Pool{Workers: 2, Capacity: 2}})
}

func TestTheJobOfAWorkerThatDoesNotBeatCountsUntilItIsTooOld(t *testing.T) {
	server := storagetest.StartRedis(t)
	f := newFixture(t, server)
	for _, since := range []time.Duration{time.Minute, 3 * time.Hour, 30 * time.Hour} {
		f.start(worker{queues: "mail", runs: "mail", since: rfc(since)})
	}
	f.start(worker{queues: "mail", runs: "mail", since: time.Now().UTC().Format("2006/01/02 15:04:05 MST")}) // before 1.21
	f.start(worker{queues: "mail", runs: "mail", since: "yesterday", beat: "now"})                           // nobody knows
	for maxAge, want := range map[time.Duration]int64{0: 4, time.Hour: 3} {
		engine, err := redis.Open(redis.Config{
			URL: func() (string, error) { return server.URL(), nil }, Redis: preset, Timeout: time.Minute, RunningMaxAge: maxAge,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := redistest.ReadQueue(t, engine, "mail"); got.Running != want || got.Pool.Workers != 5 {
			t.Errorf("runningMaxAge %s: %d of %d workers run, want %d of 5", maxAge, got.Running, got.Pool.Workers, want)
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWorkersOfNodeResquePing(t *testing.T) {
	f, engine := on(t)
	const alive, dead = "node-1:17", "node-1:18+2"
	for name, ping := range map[string]time.Duration{alive: 3 * time.Second, dead: 10 * time.Minute} {
		id := name + ":images,mail"
		f.Do("SADD", "workers", id)
		f.Do("SET", "worker:ping:"+name, redistest.JSON(t, map[string]any{"time": time.Now().Add(-ping).Unix(), "name": name, "queues": "images,mail"}))
		f.Do("SET", "worker:"+id, redistest.JSON(t, map[string]any{
			"payload": map[string]any{"queue": "no", "args": []any{}}, "worker": name, "queue": "mail",
			"run_at": time.Now().Add(-40 * 24 * time.Hour).Format("Mon Jan 02 2006 15:04:05 GMT-0700 (Central European Summer Time)"),
		}))
	}
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true, Running: 1, Pool: &driver.Pool{Workers: 1, Capacity: 1}})
	f.Do("DEL", "worker:ping:"+alive)
	if got := redistest.ReadQueue(t, engine, "mail").Running; got != 0 {
		t.Errorf("running = %d of a job of 40 days ago whose worker does not ping", got)
	}
}

func TestWorkersServeTheQueuesOfTheirPatterns(t *testing.T) {
	f, engine := on(t)
	for _, queues := range []string{
		"*", "mail", "images,mail", "m*", "[l-n]ail", "ma?l", "*,!images", "mail*", // these do
		"images", "Mail", "*,!mail", "m*,!ma*", "mai", "!images", "[mail", "", // these do not
	} {
		f.start(worker{queues: queues, beat: rfc(0)})
	}
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Pool: &driver.Pool{Workers: 8, Capacity: 8}})
	if got := redistest.ReadQueue(t, engine, "mail/eu:high").Pool.Workers; got != 5 { // *, m*, *,!images, mail*, *,!mail
		t.Errorf("%d workers serve mail/eu:high, want 5", got)
	}
}

func TestWhatAWorkerSaysThatIsNoJobIsNone(t *testing.T) {
	f, engine := on(t)
	f.Insert("mail", 1)
	for _, said := range []string{"", "null", "{", `["mail"]`, `{"queue":{"mail":1}}`, "\xff\xfe"} {
		f.start(worker{queues: "mail", beat: rfc(0)})
		f.Do("SADD", "workers", "odd:"+said)
		f.Do("SET", "worker:odd:"+said, said)
	}
	if got := redistest.ReadQueue(t, engine, "mail"); got.Running != 0 || got.Ready != 1 {
		t.Errorf("%+v, want none running", got)
	}
}

func TestAThousandWorkersAreLookedAtAtMost(t *testing.T) {
	f, _ := on(t)
	ids := make([]string, 1001)
	for i := range ids {
		ids[i] = fmt.Sprintf("host:%d:mail", i)
	}
	f.Do("SADD", "workers", ids...)
	q, commands := plan(t, f, true)
	if n := strings.Count(commands, "GET resque:worker:"); n != 1000 || !q.Saturated {
		t.Errorf("%d were looked at, saturated = %t; want 1000, true", n, q.Saturated)
	}
	f.Do("SREM", "workers", ids[0])
	q, commands = plan(t, f, true)
	if n := strings.Count(commands, "GET resque:worker:"); n != 1000 || q.Saturated {
		t.Errorf("of 1,000, %d were looked at, saturated = %t; want 1000, false", n, q.Saturated)
	}
}
