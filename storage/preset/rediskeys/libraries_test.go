//go:build libraries

package rediskeys_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/rediskeys"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A library writes with Bee-Queue itself.
type library struct{ storagetest.LibraryFixture }

func newLibrary(tb testing.TB, server *storagetest.RedisServer) library {
	tb.Helper()
	return library{storagetest.OpenLibraryFixture(tb, server, storagetest.Node(tb, "bee-queue"), nil)}
}

// delay has Bee-Queue put jobs off, by a day more than in, and lets that day pass: it puts off no job into the past.
func (l library) delay(queue string, in time.Duration, put func(time.Duration)) {
	l.TB.Helper()
	const day = 24 * time.Hour
	delayed := func() []string {
		ids, err := l.Server.Do(l.TB, "ZRANGE", "bq:"+queue+":delayed", "0", "-1").AsStrSlice()
		if err != nil {
			l.TB.Fatal(err)
		}
		return ids
	}
	before := delayed()
	put(day + in)
	for _, id := range delayed() {
		if !slices.Contains(before, id) {
			l.Server.Do(l.TB, "ZINCRBY", "bq:"+queue+":delayed", strconv.FormatInt(-day.Milliseconds(), 10), id)
		}
	}
}

func (l library) Schedule(queue string, n int, in time.Duration) {
	l.TB.Helper()
	l.delay(queue, in, func(in time.Duration) { l.Library.Schedule(queue, n, in) })
}

func (l library) Pause(string) { l.TB.Fatal("Bee-Queue pauses no queue in Redis") }

func (l library) Orphan(string, int, time.Duration) { l.TB.Fatal("Bee-Queue gives all jobs back") }

func (l library) Fail(queue string, n int, in time.Duration) {
	l.TB.Helper()
	l.Run(queue, n)
	l.delay(queue, in, func(in time.Duration) { l.Library.Fail(queue, in) })
}

func (l library) Snooze(queue string, n int, in time.Duration) { l.Fail(queue, n, in) }

func TestBeeQueueItselfKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(rediskeys.Preset.Redis, beeQueue, newLibrary, abilities))
}

func TestTheCountsAreWhatBeeQueueReports(t *testing.T) {
	l, engine := redistest.Start(t, rediskeys.Preset.Redis, beeQueue, newLibrary)
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
	said := func(state string) int64 { return int64(l.Report("mail").Counts[state]) }
	const due = 2 // Bee-Queue counts them as delayed until a worker moves them
	redistest.Agrees(t, engine, "with due jobs", driver.Queue{Name: "mail", Known: true, Ready: 7, Running: 6, Scheduled: 4}, driver.Queue{
		Name: "mail", Known: true, Ready: said("waiting") + due, Running: said("active"), Scheduled: said("delayed") - due,
	})
	got := redistest.ReadQueue(t, engine, "mail")
	redistest.Near(t, "oldest", got.Oldest, time.Hour)
	redistest.Near(t, "next due", got.NextDue, time.Hour)
}
