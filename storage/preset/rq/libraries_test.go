//go:build libraries

package rq_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/rq"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A library writes with RQ itself.
type library struct {
	*storagetest.Library

	tb     testing.TB
	server *storagetest.RedisServer
}

func newLibrary(tb testing.TB, server *storagetest.RedisServer) library {
	tb.Helper()
	program := storagetest.Python(tb, "drive_rq", "rq")
	return library{storagetest.OpenLibrary(tb, program, map[string]any{"url": server.URL()}), tb, server}
}

func (l library) Insert(queue string, n int) {
	l.tb.Helper()
	l.Enqueue(queue, n, nil)
}

func (l library) Schedule(queue string, n int, in time.Duration) {
	l.tb.Helper()
	l.Library.Schedule(queue, n, in)
}

func (l library) Pause(string) { l.tb.Fatal("RQ pauses no single queue") }

func (l library) Run(queue string, n int) {
	l.tb.Helper()
	l.Insert(queue, n)
	l.Start(queue, n)
}

// Orphan crashes the workers, and makes that longer ago.
func (l library) Orphan(queue string, n int, age time.Duration) {
	l.tb.Helper()
	l.Run(queue, n)
	l.Abandon(queue)
	ids, err := l.server.Do(l.tb, "ZRANGE", "rq:wip:"+queue, "0", "-1").AsStrSlice()
	if err != nil {
		l.tb.Fatal(err)
	}
	for _, id := range ids {
		l.server.Do(l.tb, "ZINCRBY", "rq:wip:"+queue, strconv.FormatInt(-int64(age.Seconds()), 10), id)
	}
}

func (l library) Fail(queue string, n int, in time.Duration) {
	l.tb.Helper()
	l.Run(queue, n)
	l.Library.Fail(queue, in)
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

func of(queue string) map[string]any { return map[string]any{"queue": queue} }

func TestRQItselfKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(rq.Preset.Redis, driver.RedisOptions{}, newLibrary, abilities))
}

func TestTheCountsAreWhatRQReports(t *testing.T) {
	server := storagetest.StartRedis(t)
	l := newLibrary(t, server)
	engine := redistest.Open(t, rq.Preset.Redis, driver.RedisOptions{}, server.URL())
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
	compare := func(when string, want driver.Queue, due int) {
		t.Helper()
		got := expect(t, engine, want)
		counted := storagetest.Report{
			Counts: map[string]int{"started": int(got.Running), "scheduled": int(got.Scheduled) + due},
			Paused: got.Paused, Workers: int(got.Pool.Workers),
		}
		if !got.Paused {
			counted.Counts["queued"] = int(got.Ready) - due
		}
		onlyOurs := cmpopts.IgnoreMapEntries(func(state string, _ int) bool {
			_, ok := counted.Counts[state]
			return !ok
		})
		if diff := cmp.Diff(l.Report("mail"), counted, onlyOurs); diff != "" {
			t.Errorf("%s (-RQ +ours):\n%s", when, diff)
		}
	}
	compare("due jobs not moved", driver.Queue{Name: "mail", Known: true, Ready: 9, Running: 4, Scheduled: 4}, 4)
	l.Do("suspend", nil)
	compare("suspended", driver.Queue{Name: "mail", Known: true, Running: 4, Scheduled: 4, Paused: true}, 4)
	l.Do("resume", nil)
	l.Do("move", of("mail"))
	compare("due jobs moved", driver.Queue{Name: "mail", Known: true, Ready: 9, Running: 4, Scheduled: 4}, 0)
	l.Library.Finish("mail")
	compare("finished", driver.Queue{Name: "mail", Known: true, Ready: 9, Scheduled: 4}, 0)
}

// A job of a dead worker makes its queue active until a worker takes care of it.
func TestAJobThatADeadWorkerLeftIsReadyUntilRQTakesCareOfIt(t *testing.T) {
	server := storagetest.StartRedis(t)
	l := newLibrary(t, server)
	engine := redistest.Open(t, rq.Preset.Redis, driver.RedisOptions{}, server.URL())
	l.Orphan("mail", 2, time.Hour)
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2})
	l.Do("clean", of("mail"))
	expect(t, engine, driver.Queue{Name: "mail", Known: true})
	if said := l.Report("mail").Counts; said["failed"] != 2 {
		t.Errorf("RQ says %v, want 2 failed", said)
	}
}
