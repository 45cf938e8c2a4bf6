//go:build libraries

package rediskeys_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/rediskeys"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A library writes with Bee-Queue itself.
type library struct {
	*storagetest.Library

	tb     testing.TB
	server *storagetest.RedisServer
}

func newLibrary(tb testing.TB, server *storagetest.RedisServer) library {
	tb.Helper()
	program := storagetest.Node(tb, "bee-queue")
	return library{storagetest.OpenLibrary(tb, program, map[string]any{"url": server.URL()}), tb, server}
}

func (l library) Insert(queue string, n int) {
	l.tb.Helper()
	l.Enqueue(queue, n, nil)
}

// delay has Bee-Queue put jobs off, by a day more than in, and lets that day pass: it puts off no job into the past.
func (l library) delay(queue string, in time.Duration, put func(time.Duration)) {
	l.tb.Helper()
	const day = 24 * time.Hour
	delayed := func() []string {
		ids, err := l.server.Do(l.tb, "ZRANGE", "bq:"+queue+":delayed", "0", "-1").AsStrSlice()
		if err != nil {
			l.tb.Fatal(err)
		}
		return ids
	}
	before := delayed()
	put(day + in)
	for _, id := range delayed() {
		if !slices.Contains(before, id) {
			l.server.Do(l.tb, "ZINCRBY", "bq:"+queue+":delayed", strconv.FormatInt(-day.Milliseconds(), 10), id)
		}
	}
}

func (l library) Schedule(queue string, n int, in time.Duration) {
	l.tb.Helper()
	l.delay(queue, in, func(in time.Duration) { l.Library.Schedule(queue, n, in) })
}

func (l library) Pause(string) { l.tb.Fatal("Bee-Queue pauses no queue in Redis") }

func (l library) Run(queue string, n int) {
	l.tb.Helper()
	l.Insert(queue, n)
	l.Start(queue, n)
}

func (l library) Orphan(string, int, time.Duration) { l.tb.Fatal("Bee-Queue gives all jobs back") }

func (l library) Fail(queue string, n int, in time.Duration) {
	l.tb.Helper()
	l.Run(queue, n)
	l.delay(queue, in, func(in time.Duration) { l.Library.Fail(queue, in) })
}

func (l library) Snooze(queue string, n int, in time.Duration) { l.Fail(queue, n, in) }

func (l library) Cancel(queue string, n int) {
	l.tb.Helper()
	l.Do("cancel", map[string]any{"queue": queue, "jobs": l.Enqueue(queue, n, nil)})
}

func (l library) Finish(queue string, n int) {
	l.tb.Helper()
	l.Run(queue, n)
	l.Library.Finish(queue)
}

func TestBeeQueueItselfKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(rediskeys.Preset.Redis, beeQueue, newLibrary, abilities))
}

func TestTheCountsAreWhatBeeQueueReports(t *testing.T) {
	server := storagetest.StartRedis(t)
	l := newLibrary(t, server)
	engine := redistest.Open(t, rediskeys.Preset.Redis, beeQueue, server.URL())
	l.Finish("mail", 2)
	l.Run("mail", 3)
	l.FailForGood("mail")
	l.Fail("mail", 1, time.Hour)
	l.Run("mail", 2)
	l.Abandon("mail")
	l.Run("mail", 4)
	l.Schedule("mail", 3, time.Hour)
	l.Schedule("mail", 2, -time.Hour)
	l.Insert("mail", 5)
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 7, Running: 6, Scheduled: 4})
	redistest.Near(t, "oldest", got.Oldest, time.Hour)
	redistest.Near(t, "next due", got.NextDue, time.Hour)

	said := l.Report("mail").Counts
	const due = 2 // Bee-Queue counts them as delayed until a worker moves them
	counted := map[string]int{"waiting": int(got.Ready) - due, "active": int(got.Running), "delayed": int(got.Scheduled) + due}
	maps.DeleteFunc(said, func(state string, _ int) bool { return state == "succeeded" || state == "failed" })
	if diff := cmp.Diff(said, counted); diff != "" {
		t.Errorf("(-Bee-Queue +ours):\n%s", diff)
	}
}
