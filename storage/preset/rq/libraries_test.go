//go:build libraries

package rq_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/rq"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A library writes with RQ itself.
type library struct{ storagetest.LibraryFixture }

func newLibrary(tb testing.TB, server *storagetest.RedisServer) library {
	tb.Helper()
	return library{storagetest.OpenLibraryFixture(tb, server, storagetest.Python(tb, "drive_rq", "rq"), nil)}
}

func (l library) Pause(string) { l.TB.Fatal("RQ pauses no single queue") }

// Orphan crashes the workers, and makes that longer ago.
func (l library) Orphan(queue string, n int, age time.Duration) {
	l.TB.Helper()
	l.Run(queue, n)
	l.Abandon(queue)
	ids, err := l.Server.Do(l.TB, "ZRANGE", "rq:wip:"+queue, "0", "-1").AsStrSlice()
	if err != nil {
		l.TB.Fatal(err)
	}
	for _, id := range ids {
		l.Server.Do(l.TB, "ZINCRBY", "rq:wip:"+queue, strconv.FormatInt(-int64(age.Seconds()), 10), id)
	}
}

func of(queue string) map[string]any { return map[string]any{"queue": queue} }

func TestRQItselfKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(rq.Preset.Redis, driver.RedisOptions{}, newLibrary, abilities))
}

func TestTheCountsAreWhatRQReports(t *testing.T) {
	l, engine := redistest.Start(t, rq.Preset.Redis, driver.RedisOptions{}, newLibrary)
	l.Finish("mail", 2)
	l.Run("mail", 3)
	l.FailForGood("mail")
	l.Cancel("mail", 1)
	l.Fail("mail", 2, -time.Hour)
	l.Fail("mail", 1, time.Hour)
	l.Run("mail", 4)
	l.Do("depend", map[string]any{"queue": "mail", "n": 2})
	l.Schedule("mail", 3, time.Hour)
	l.Schedule("mail", 2, -time.Minute)
	l.Insert("mail", 5)
	// Due jobs that RQ has not moved yet it calls scheduled, and it counts what is queued while it is suspended.
	compare := func(when string, want driver.Queue, due int64) {
		t.Helper()
		said := l.Report("mail")
		n := func(state string) int64 { return int64(said.Counts[state]) }
		reported := driver.Queue{
			Name: "mail", Known: true, Ready: n("queued") + due, Running: n("started"), Scheduled: n("scheduled") - due,
			Paused: said.Paused, Pool: &driver.Pool{Workers: int64(said.Workers), Capacity: int64(said.Workers)},
		}
		if said.Paused {
			reported.Ready = 0
		}
		want.Name, want.Known = "mail", true
		redistest.Agrees(t, engine, when, want, reported)
	}
	busy, none := &driver.Pool{Workers: 4, Capacity: 4}, &driver.Pool{}
	compare("due jobs not moved", driver.Queue{Ready: 9, Running: 4, Scheduled: 4, Pool: busy}, 4)
	l.Do("suspend", nil)
	compare("suspended", driver.Queue{Running: 4, Scheduled: 4, Paused: true, Pool: busy}, 4)
	l.Do("resume", nil)
	l.Do("move", of("mail"))
	compare("due jobs moved", driver.Queue{Ready: 9, Running: 4, Scheduled: 4, Pool: busy}, 0)
	l.Library.Finish("mail")
	compare("finished", driver.Queue{Ready: 9, Scheduled: 4, Pool: none}, 0)
}

// A job of a dead worker makes its queue active until a worker takes care of it.
func TestAJobThatADeadWorkerLeftIsReadyUntilRQTakesCareOfIt(t *testing.T) {
	l, engine := redistest.Start(t, rq.Preset.Redis, driver.RedisOptions{}, newLibrary)
	l.Orphan("mail", 2, time.Hour)
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2})
	l.Do("clean", of("mail"))
	expect(t, engine, driver.Queue{Name: "mail", Known: true})
	if said := l.Report("mail").Counts; said["failed"] != 2 {
		t.Errorf("RQ says %v, want 2 failed", said)
	}
}
