package celery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/celery"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// Case 44.
func TestTasksInWorkersHandsAreOutstanding(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	f.Run("celery", 600)
	redistest.Expect(t, engine, driver.Queue{Name: "celery", Known: true, Running: 600})
}

func TestTasksInWorkersHandsCountInTheirQueueAlone(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	f.Run("mail", 40)
	f.Run("images", 2)
	f.Insert("idle", 1)
	f.hold("", `it's "odd", \ n`+"\n日本", strings.Repeat("x", 300_000), 1)
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true, Running: 40})
	redistest.Expect(t, engine, driver.Queue{Name: "images", Known: true, Running: 2})
	redistest.Expect(t, engine, driver.Queue{Name: "idle", Known: true, Ready: 1})
	redistest.Expect(t, engine, driver.Queue{Name: `it's "odd", \ n` + "\n日本", Known: true, Running: 1})
	redistest.Expect(t, engine, driver.Queue{Name: "nobody"})
}

func TestTasksOfAnExchangeCountInTheQueuesThatItLeadsTo(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	f.bind("jobs", "mail.#", `^mail\..*?$`, "mail")
	f.bind("jobs", "#", "^.*?$", "audit")
	f.bind("jobs", "images", "", "images")
	f.bind("jobs", "odd", "(?<=x)", "odd") // Python's, and not understood
	f.hold("jobs", "mail.now", "W10=", 2)
	f.hold("jobs", "images", "W10=", 4)
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true, Running: 2})
	redistest.Expect(t, engine, driver.Queue{Name: "audit", Known: true, Running: 6})
	redistest.Expect(t, engine, driver.Queue{Name: "images", Known: true, Running: 4})
	redistest.Expect(t, engine, driver.Queue{Name: "odd", Known: true, Running: 6})
	redistest.Expect(t, engine, driver.Queue{Name: "nobody"})
}

func TestTasksOfUnknownOriginCountInEachQueue(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	f.Insert("mail", 1)
	f.Run("images", 1)
	f.do("HSET", "unacked", "a", "no JSON", "b", `{"queue":"mail"}`, "c", `[{},"",7]`, "d", "")
	f.hold("gone", "mail", "W10=", 1) // whose bindings are deleted
	redistest.Expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 1, Running: 5})
	redistest.Expect(t, engine, driver.Queue{Name: "images", Known: true, Running: 6})
	if notes := redistest.Read(t, engine, driver.Want{Queue: "mail"}).Notes; len(notes) != 1 || !strings.Contains(notes[0], "unacked") {
		t.Errorf("notes = %q, want one about unacked", notes)
	}
}

// The shares of a great many are estimated, and a queue that none was seen of is not taken for idle.
func TestManyTasksAreEstimatedAndNeverZero(t *testing.T) {
	f, engine := open(t, driver.RedisOptions{})
	f.Insert("mail", 1)
	f.Insert("images", 1)
	f.Insert("rare", 1)
	const each = 4000
	for _, queue := range []string{"mail", "images"} {
		fill := []string{"HSET", "unacked"}
		for i := range each {
			_, message := f.message("", queue, "W10=")
			fill = append(fill, fmt.Sprintf("%s-%d", queue, i), redistest.JSON(t, []any{message, "", queue}))
		}
		f.do(fill...)
	}
	for _, name := range []string{"mail", "images"} {
		reading := redistest.Read(t, engine, driver.Want{Queue: name})
		q := reading.Queues[0]
		if q.Running < each*3/4 || q.Running > each*5/4 || !q.Saturated {
			t.Errorf("%s: running = %d, saturated = %t, want about %d and true", name, q.Running, q.Saturated, each)
		}
		if len(reading.Notes) != 1 || !strings.Contains(reading.Notes[0], "estimated") {
			t.Errorf("notes = %q, want that it is an estimate", reading.Notes)
		}
	}
	if q := redistest.Read(t, engine, driver.Want{Queue: "rare"}).Queues[0]; q.Running != 1 {
		t.Errorf("rare: running = %d, want 1: nobody knows that there is none", q.Running)
	}
}

func TestTheOnlyQueueIsNotLookedAtTaskByTask(t *testing.T) {
	options := celery.Preset.Redis.Defaults
	options.Queues = []string{"mail"}
	server := storagetest.StartRedis(t)
	f := newFixture(t, server)
	f.Run("mail", 3)
	f.do("HSET", "unacked", "odd", "no JSON")
	var commands strings.Builder
	q := redistest.Plan(t, server, celery.Preset.Redis, driver.RedisAsk{RedisOptions: options, Queue: "mail"}, &commands)
	if q.Running != 4 || strings.Contains(commands.String(), "HSCAN") {
		t.Errorf("running = %d, want 4 by HLEN alone:\n%s", q.Running, commands.String())
	}
}

// Whatever is in the hash, no more than so much is read of it.
func TestTheLookAtTasksIsBounded(t *testing.T) {
	for name, tt := range map[string]struct {
		size, n, limit, scans int
	}{
		"large tasks":          {size: 256 << 10, n: 100, scans: 1},
		"many tasks":           {size: 10, n: 5000, scans: 3},
		"as many as asked for": {size: 10, n: 5000, limit: 5, scans: 1},
	} {
		server := storagetest.StartRedis(t)
		f := newFixture(t, server)
		fill := []string{"HSET", "unacked"}
		for i := range tt.n {
			_, message := f.message("", "mail", strings.Repeat("x", tt.size))
			fill = append(fill, fmt.Sprintf("tag-%d", i), redistest.JSON(t, []any{message, "", "mail"}))
		}
		f.do(fill...)
		ask := driver.RedisAsk{RedisOptions: celery.Preset.Redis.Defaults, Queue: "mail", Limit: int64(tt.limit), Now: time.Now()}
		var commands strings.Builder
		q := redistest.Plan(t, server, celery.Preset.Redis, ask, &commands)
		if q.Running < 1 || tt.limit == 0 && q.Running != int64(tt.n) || !q.Saturated {
			t.Errorf("%s: running = %d, saturated = %t", name, q.Running, q.Saturated)
		}
		if scans := strings.Count(commands.String(), "HSCAN"); scans > tt.scans {
			t.Errorf("%s: %d looks, want at most %d:\n%s", name, scans, tt.scans, commands.String())
		}
	}
}

func TestWithoutTheRightToLookAllCountInEachQueue(t *testing.T) {
	server := storagetest.StartRedis(t)
	f := newFixture(t, server)
	f.Run("mail", 3)
	f.Run("images", 2)
	server.AddUser(t, "reader", "secret", "%R~*", "+hello", "+ping", "+client|tracking", "+client|setname", "+llen", "+hlen",
		"+exists", "+time", "+role", "+multi", "+exec")
	engine := redistest.Open(t, celery.Preset.Redis, driver.RedisOptions{}, server.UserURL("reader", "secret"))
	reading := redistest.Read(t, engine, driver.Want{Queue: "mail"})
	if got := reading.Queues[0].Running; got != 5 {
		t.Errorf("running = %d, want 5", got)
	}
	if len(reading.Notes) != 1 || !strings.Contains(reading.Notes[0], "+hscan") {
		t.Errorf("notes = %q, want that HSCAN is refused", reading.Notes)
	}
}
