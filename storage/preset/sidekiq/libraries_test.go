//go:build libraries

package sidekiq_test

import (
	"context"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A library writes with Sidekiq itself.
type library struct {
	tb     testing.TB
	server *storagetest.RedisServer
	ruby   *storagetest.Producer
}

func newLibrary(tb testing.TB, server *storagetest.RedisServer) library {
	tb.Helper()
	l := library{tb, server, storagetest.Script(tb, "ruby", "sidekiq.rb")}
	call[any](l, "open", map[string]any{"url": server.URL()})
	tb.Cleanup(func() { call[any](l, "close", nil) })
	return l
}

func call[T any](l library, command string, args map[string]any) T {
	l.tb.Helper()
	return storagetest.Call[T](l.tb, l.ruby, command, args)
}

// add calls a command that adds n jobs and returns their ids.
func (l library) add(command, queue string, n int, more map[string]any) []string {
	l.tb.Helper()
	args := map[string]any{"queue": queue, "n": n}
	maps.Copy(args, more)
	return call[[]string](l, command, args)
}

// work has a process of these queues claim n jobs of the first.
func (l library) work(n int, queues ...string) {
	l.tb.Helper()
	l.Insert(queues[0], n)
	call[any](l, "start", map[string]any{"queues": queues, "n": n})
}

// end calls a command about the processes of these queues.
func end[T any](l library, command string, more map[string]any, queues ...string) T {
	l.tb.Helper()
	args := map[string]any{"queues": queues}
	maps.Copy(args, more)
	return call[T](l, command, args)
}

func (l library) Insert(queue string, n int) {
	l.tb.Helper()
	l.add("enqueue", queue, n, nil)
}

func (l library) Schedule(queue string, n int, in time.Duration) {
	l.tb.Helper()
	l.add("schedule", queue, n, map[string]any{"after": in.Seconds()})
}

func (l library) Pause(string) { l.tb.Fatal("Sidekiq without Pro cannot pause") }

func (l library) Run(queue string, n int) {
	l.tb.Helper()
	l.work(n, queue)
}

// Orphan kills two processes, and does what time does: Redis forgets the one that beat last, and the other is from a backup.
func (l library) Orphan(queue string, n int, age time.Duration) {
	l.tb.Helper()
	l.work(n, queue)
	l.work(n, queue)
	killed := end[[]string](l, "abandon", nil, queue)
	l.server.Do(l.tb, "DEL", killed[0])
	long := strconv.FormatInt(time.Now().Add(-age).Unix(), 10)
	l.server.Do(l.tb, "HSET", killed[1], "beat", long)
}

func (l library) Fail(queue string, n int, in time.Duration) {
	l.tb.Helper()
	l.work(n, queue)
	end[any](l, "fail", map[string]any{"after": in.Seconds()}, queue)
}

func (l library) Snooze(queue string, n int, in time.Duration) { l.Fail(queue, n, in) }

func (l library) Cancel(queue string, n int) {
	l.tb.Helper()
	call[any](l, "cancel", map[string]any{"queue": queue, "jids": l.add("enqueue", queue, n, nil)})
}

func (l library) Finish(queue string, n int) {
	l.tb.Helper()
	l.work(n, queue)
	end[any](l, "finish", nil, queue)
}

func TestSidekiqItselfKeepsTheContracts(t *testing.T) {
	abilities := abilities
	abilities.Paused = false // takes Pro
	storagetest.Run(t, redistest.Harness(preset, driver.RedisOptions{}, newLibrary, abilities))
}

// A report is what Sidekiq's API says of a queue.
type report struct {
	Size, Due, Later, Running, Processes, Threads int64
	Latency                                       float64 // of the list, in seconds
}

func TestTheCountsAreWhatSidekiqReports(t *testing.T) {
	server := storagetest.StartRedis(t)
	l := newLibrary(t, server)
	engine := redistest.Open(t, preset, driver.RedisOptions{}, server.URL())
	l.Finish("mail", 2)
	l.Fail("mail", 2, -time.Minute)
	l.Fail("mail", 1, time.Hour)
	l.add("enqueue", "mail", 2, map[string]any{"retry": 0}) // buried when they fail
	call[any](l, "start", map[string]any{"queues": []string{"mail"}, "n": 2})
	end[any](l, "fail", map[string]any{"after": 0}, "mail")
	l.Insert("images", 1)
	l.Insert("mail", 2)
	call[any](l, "start", map[string]any{"queues": []string{"images", "mail"}, "n": 3})
	l.work(3, "mail")
	l.work(1, "mail", "low")
	end[any](l, "quiet", nil, "mail", "low")
	l.Schedule("mail", 3, time.Hour)
	l.Schedule("mail", 2, -time.Hour)
	l.Schedule("images", 4, -time.Hour)
	l.Insert("mail", 5)
	compare := func(when string, want driver.Queue) {
		t.Helper()
		said := call[report](l, "report", map[string]any{"queue": want.Name})
		reported := driver.Queue{
			Name: want.Name, Known: true, Ready: said.Size + said.Due, Running: said.Running, Scheduled: said.Later,
			Pool: &driver.Pool{Workers: said.Processes, Capacity: said.Threads},
		}
		got := redistest.ReadQueue(t, engine, want.Name)
		if want.Name == "mail" { // Sidekiq counts the quiet process, and its one thread
			reported.Pool.Workers--
		}
		got.Oldest, got.NextDue = 0, 0
		if diff := cmp.Diff(want, reported); diff != "" {
			t.Errorf("%s, Sidekiq reports (-want):\n%s", when, diff)
		}
		if diff := cmp.Diff(reported, got); diff != "" {
			t.Errorf("%s, Sidekiq reports other than what was read (+):\n%s", when, diff)
		}
	}
	mail := driver.Queue{Name: "mail", Known: true, Ready: 9, Running: 6, Scheduled: 4, Pool: &driver.Pool{Workers: 2, Capacity: 7}}
	images := driver.Queue{Name: "images", Known: true, Ready: 4, Running: 1, Pool: &driver.Pool{Workers: 1, Capacity: 3}}
	compare("before what is due is promoted", mail)
	compare("before what is due is promoted", images)
	call[any](l, "promote", nil)
	compare("after what is due is promoted", mail)
	compare("after what is due is promoted", images)
}

func TestOldestIsSidekiqsLatency(t *testing.T) {
	server := storagetest.StartRedis(t)
	l := newLibrary(t, server)
	engine := redistest.Open(t, preset, driver.RedisOptions{}, server.URL())
	l.Insert("mail", 3)
	for last := time.Duration(0); last < 300*time.Millisecond; {
		low := call[report](l, "report", map[string]any{"queue": "mail"}).Latency
		last = redistest.ReadQueue(t, engine, "mail").Oldest
		high := call[report](l, "report", map[string]any{"queue": "mail"}).Latency
		if seconds := last.Seconds(); seconds < low-0.001 || seconds > high+0.001 {
			t.Fatalf("oldest = %s, and Sidekiq's latency was %g s before and %g s after", last, low, high)
		}
	}
}

// A job that was just taken is in no count until the process beats, which it does by itself.
func TestWhatSidekiqTookRunsFromItsNextBeatOn(t *testing.T) {
	server := storagetest.StartRedis(t)
	l := newLibrary(t, server)
	engine := redistest.Open(t, preset, driver.RedisOptions{}, server.URL())
	l.Insert("mail", 2)
	call[any](l, "start", map[string]any{"queues": []string{"mail"}, "n": 2, "beat": false})
	if got := redistest.ReadQueue(t, engine, "mail").Ready; got != 0 {
		t.Errorf("ready = %d of jobs that were taken, want 0", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for redistest.ReadQueue(t, engine, "mail").Running != 2 {
		select {
		case <-look.C:
		case <-ctx.Done():
			t.Fatal("the process did not tell of its jobs within a minute")
		}
	}
}
