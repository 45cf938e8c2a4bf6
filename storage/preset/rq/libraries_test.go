//go:build libraries

package rq_test

import (
	"maps"
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

// debian is the Python that Debian's packages are for.
const debian = "/usr/bin/python3"

// A library writes with RQ itself.
type library struct {
	tb     testing.TB
	server *storagetest.RedisServer
	python *storagetest.Producer
	id     int
}

func newLibrary(tb testing.TB, server *storagetest.RedisServer) library {
	tb.Helper()
	l := library{tb: tb, server: server, python: storagetest.Script(tb, debian, "drive_rq.py")}
	l.id = storagetest.Call[int](tb, l.python, "open", map[string]any{"url": server.URL()})
	tb.Cleanup(func() { call[any](l, "close", nil) })
	return l
}

func call[T any](l library, command string, args map[string]any) T {
	l.tb.Helper()
	all := map[string]any{"id": l.id}
	maps.Copy(all, args)
	return storagetest.Call[T](l.tb, l.python, command, all)
}

func jobs(queue string, n int) map[string]any { return map[string]any{"queue": queue, "n": n} }

func of(queue string) map[string]any { return map[string]any{"queue": queue} }

func (l library) Insert(queue string, n int) {
	l.tb.Helper()
	call[any](l, "enqueue", jobs(queue, n))
}

func (l library) Schedule(queue string, n int, in time.Duration) {
	l.tb.Helper()
	call[any](l, "schedule", map[string]any{"queue": queue, "n": n, "after": in.Seconds()})
}

func (l library) Pause(string) { l.tb.Fatal("RQ pauses no single queue") }

func (l library) Run(queue string, n int) {
	l.tb.Helper()
	l.Insert(queue, n)
	call[any](l, "start", jobs(queue, n))
}

// Orphan crashes the workers, and makes that longer ago.
func (l library) Orphan(queue string, n int, age time.Duration) {
	l.tb.Helper()
	l.Run(queue, n)
	call[any](l, "abandon", of(queue))
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
	call[any](l, "fail", map[string]any{"queue": queue, "after": in.Seconds()})
}

func (l library) Snooze(queue string, n int, in time.Duration) { l.Fail(queue, n, in) }

func (l library) Cancel(queue string, n int) {
	l.tb.Helper()
	ids := call[[]string](l, "enqueue", jobs(queue, n))
	call[any](l, "cancel", map[string]any{"queue": queue, "jobs": ids})
}

func (l library) Finish(queue string, n int) {
	l.tb.Helper()
	l.Run(queue, n)
	call[any](l, "finish", of(queue))
}

func TestRQItselfKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(rq.Preset.Redis, driver.RedisOptions{}, newLibrary, abilities))
}

// A report is what RQ says of a queue.
type report struct {
	Counts  map[string]int64
	Paused  bool
	Workers int64
}

func TestTheCountsAreWhatRQReports(t *testing.T) {
	server := storagetest.StartRedis(t)
	l := newLibrary(t, server)
	engine := redistest.Open(t, rq.Preset.Redis, driver.RedisOptions{}, server.URL())
	l.Finish("mail", 2)
	l.Run("mail", 3)
	call[any](l, "fail", of("mail")) // for good
	l.Cancel("mail", 1)
	l.Fail("mail", 2, -time.Hour)
	l.Fail("mail", 1, time.Hour)
	l.Run("mail", 4)
	call[any](l, "depend", jobs("mail", 2))
	l.Schedule("mail", 3, time.Hour)
	l.Schedule("mail", 2, -time.Minute)
	l.Insert("mail", 5)
	compare := func(when string, want driver.Queue, due int64) {
		t.Helper()
		got := expect(t, engine, want)
		said := call[report](l, "report", of("mail"))
		counted := report{
			Counts: map[string]int64{"started": got.Running, "scheduled": got.Scheduled + due}, Paused: got.Paused, Workers: got.Pool.Workers,
		}
		if !got.Paused {
			counted.Counts["queued"] = got.Ready - due
		}
		onlyOurs := cmpopts.IgnoreMapEntries(func(state string, _ int64) bool {
			_, ok := counted.Counts[state]
			return !ok
		})
		if diff := cmp.Diff(said, counted, onlyOurs); diff != "" {
			t.Errorf("%s (-RQ +ours):\n%s", when, diff)
		}
	}
	compare("due jobs not moved", driver.Queue{Name: "mail", Known: true, Ready: 9, Running: 4, Scheduled: 4}, 4)
	call[any](l, "suspend", nil)
	compare("suspended", driver.Queue{Name: "mail", Known: true, Running: 4, Scheduled: 4, Paused: true}, 4)
	call[any](l, "resume", nil)
	call[any](l, "move", of("mail"))
	compare("due jobs moved", driver.Queue{Name: "mail", Known: true, Ready: 9, Running: 4, Scheduled: 4}, 0)
	call[any](l, "finish", of("mail"))
	compare("finished", driver.Queue{Name: "mail", Known: true, Ready: 9, Scheduled: 4}, 0)
}

// A job of a dead worker makes its queue active until a worker takes care of it.
func TestAJobThatADeadWorkerLeftIsReadyUntilRQTakesCareOfIt(t *testing.T) {
	server := storagetest.StartRedis(t)
	l := newLibrary(t, server)
	engine := redistest.Open(t, rq.Preset.Redis, driver.RedisOptions{}, server.URL())
	l.Orphan("mail", 2, time.Hour)
	expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 2})
	call[any](l, "clean", of("mail"))
	expect(t, engine, driver.Queue{Name: "mail", Known: true})
	if said := call[report](l, "report", of("mail")).Counts; said["failed"] != 2 {
		t.Errorf("RQ says %v, want 2 failed", said)
	}
}
