//go:build libraries

package resque_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A library writes with node-resque itself.
type library struct {
	tb     testing.TB
	server *storagetest.RedisServer
	node   *storagetest.Producer
	id     int
}

func newLibrary(tb testing.TB, server *storagetest.RedisServer) library {
	tb.Helper()
	l := library{tb: tb, server: server, node: storagetest.Node(tb, "resque")}
	l.id = storagetest.Call[int](tb, l.node, "open", map[string]any{"url": server.URL()})
	tb.Cleanup(func() { call[any](l, "close", nil) })
	return l
}

func call[T any](l library, command string, args map[string]any) T {
	l.tb.Helper()
	all := map[string]any{"id": l.id}
	maps.Copy(all, args)
	return storagetest.Call[T](l.tb, l.node, command, all)
}

// jobs is what a command about n jobs of a queue takes.
func jobs(queue string, n int) map[string]any { return map[string]any{"queue": queue, "n": n} }

func (l library) Insert(queue string, n int) {
	l.tb.Helper()
	call[any](l, "enqueue", jobs(queue, n))
}

func (l library) Schedule(queue string, n int, in time.Duration) {
	l.tb.Helper()
	call[any](l, "schedule", map[string]any{"queue": queue, "n": n, "after": in.Seconds()})
}

func (l library) Pause(string) { l.tb.Fatal("node-resque cannot pause") }

func (l library) Run(queue string, n int) {
	l.tb.Helper()
	l.Insert(queue, n)
	call[any](l, "start", jobs(queue, n))
}

// Orphan crashes the workers, and makes that longer ago.
func (l library) Orphan(queue string, n int, age time.Duration) {
	l.tb.Helper()
	l.Run(queue, n)
	for _, name := range call[[]string](l, "abandon", map[string]any{"queue": queue}) {
		ping := map[string]any{"time": time.Now().Add(-age).Unix(), "name": name, "queues": queue}
		l.server.Do(l.tb, "SET", "resque:worker:ping:"+name, text(l.tb, ping))
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
	args := call[[][]int](l, "enqueue", jobs(queue, n))
	call[any](l, "cancel", map[string]any{"queue": queue, "args": args})
}

func (l library) Finish(queue string, n int) {
	l.tb.Helper()
	l.Run(queue, n)
	call[any](l, "finish", map[string]any{"queue": queue})
}

func TestNodeResqueItselfKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(preset, driver.RedisOptions{}, newLibrary, abilities))
}

// A report is what node-resque says of a queue, and of all.
type report struct {
	Length, Running, Due, Later int64
	Queues                      []string
}

func TestTheCountsAreWhatNodeResqueReports(t *testing.T) {
	server := storagetest.StartRedis(t)
	l := newLibrary(t, server)
	engine := redistest.Open(t, preset, driver.RedisOptions{}, server.URL())
	l.Finish("mail", 2)
	l.Run("images", 1)
	l.Fail("mail", 2, -time.Minute)
	l.Fail("mail", 1, time.Hour)
	l.Run("mail", 3)
	call[any](l, "fail", map[string]any{"queue": "mail"}) // for good
	l.Run("mail", 4)
	l.Schedule("mail", 3, time.Hour)
	l.Schedule("mail", 2, -time.Hour)
	l.Schedule("images", 7, -time.Hour)
	l.Insert("mail", 5)
	compare := func(when string, want driver.Queue) {
		t.Helper()
		said := call[report](l, "report", map[string]any{"queue": want.Name})
		reported := driver.Queue{
			Name: want.Name, Known: slices.Contains(said.Queues, want.Name),
			Ready: said.Length + said.Due, Running: said.Running, Scheduled: said.Later, Pool: want.Pool,
		}
		if diff := cmp.Diff(want, reported); diff != "" {
			t.Errorf("%s, node-resque reports (-want):\n%s", when, diff)
		}
		got := redistest.ReadQueue(t, engine, want.Name)
		got.Oldest, got.NextDue = 0, 0
		if diff := cmp.Diff(reported, got); diff != "" {
			t.Errorf("%s, node-resque reports other than what was read (+):\n%s", when, diff)
		}
	}
	mail := driver.Queue{Name: "mail", Known: true, Ready: 9, Running: 4, Scheduled: 4, Pool: &driver.Pool{Workers: 4, Capacity: 4}}
	images := driver.Queue{Name: "images", Known: true, Ready: 7, Running: 1, Pool: &driver.Pool{Workers: 1, Capacity: 1}}
	compare("before the scheduler", mail)
	compare("before the scheduler", images)
	call[any](l, "promote", nil)
	compare("after the scheduler", mail)
	compare("after the scheduler", images)
}
