//go:build libraries

package sidekiq_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A library writes with Sidekiq itself.
type library struct{ storagetest.LibraryFixture }

func newLibrary(tb testing.TB, server *storagetest.RedisServer) library {
	tb.Helper()
	return library{storagetest.OpenLibraryFixture(tb, server, storagetest.Script(tb, "ruby", "sidekiq.rb"), nil)}
}

func (l library) Pause(string) { l.TB.Fatal("Sidekiq without Pro cannot pause") }

// Orphan kills two processes, and does what time does: Redis forgets the one that beat last, and the other is from a backup.
func (l library) Orphan(queue string, n int, age time.Duration) {
	l.TB.Helper()
	l.Run(queue, n)
	l.Run(queue, n)
	l.Abandon(queue)
	killed, err := l.Server.Do(l.TB, "SMEMBERS", "processes").AsStrSlice()
	if err != nil || len(killed) != 2 {
		l.TB.Fatalf("processes = %q, %v; want 2", killed, err)
	}
	l.Server.Do(l.TB, "DEL", killed[0])
	l.Server.Do(l.TB, "HSET", killed[1], "beat", strconv.FormatInt(time.Now().Add(-age).Unix(), 10))
}

func TestSidekiqItselfKeepsTheContracts(t *testing.T) {
	abilities := abilities
	abilities.Paused = false // takes Pro
	storagetest.Run(t, redistest.Harness(preset, driver.RedisOptions{}, newLibrary, abilities))
}

func TestTheCountsAreWhatSidekiqReports(t *testing.T) {
	l, engine := redistest.Start(t, preset, driver.RedisOptions{}, newLibrary)
	l.Finish("mail", 2)
	l.Fail("mail", 2, -time.Minute)
	l.Fail("mail", 1, time.Hour)
	l.Run("mail", 2)
	l.FailForGood("mail")
	l.Insert("images", 1)
	l.Insert("mail", 2)
	l.Do("start", map[string]any{"queue": "images", "also": []string{"mail"}, "n": 3})
	l.Run("mail", 1)
	l.Do("quiet", map[string]any{"queue": "mail"})
	l.Run("mail", 3)
	l.Schedule("mail", 3, time.Hour)
	l.Schedule("mail", 2, -time.Hour)
	l.Schedule("images", 4, -time.Hour)
	l.Insert("mail", 5)
	compare := func(when string, want driver.Queue) {
		t.Helper()
		said := func(what string) int64 { return int64(l.Report(want.Name).Counts[what]) }
		reported := driver.Queue{
			Name: want.Name, Known: true, Ready: said("enqueued") + said("due"), Running: said("busy"), Scheduled: said("later"),
			Pool: &driver.Pool{Workers: want.Pool.Workers, Capacity: said("threads")},
		}
		redistest.Agrees(t, engine, when, want, reported)
	}
	mail := driver.Queue{Name: "mail", Known: true, Ready: 9, Running: 6, Scheduled: 4, Pool: &driver.Pool{Workers: 2, Capacity: 7}}
	images := driver.Queue{Name: "images", Known: true, Ready: 4, Running: 1, Pool: &driver.Pool{Workers: 1, Capacity: 3}}
	compare("before what is due is promoted", mail)
	compare("before what is due is promoted", images)
	l.Do("promote", nil)
	compare("after what is due is promoted", mail)
	compare("after what is due is promoted", images)
}

func TestOldestIsSidekiqsLatency(t *testing.T) {
	l, engine := redistest.Start(t, preset, driver.RedisOptions{}, newLibrary)
	l.Insert("mail", 3)
	for last := time.Duration(0); last < time.Second; {
		low := l.Report("mail").Latency
		last = redistest.ReadQueue(t, engine, "mail").Oldest
		high := l.Report("mail").Latency
		if seconds := last.Seconds(); seconds < low-0.1 || seconds > high+0.1 {
			t.Fatalf("oldest = %s, and Sidekiq's latency was %g s before and %g s after", last, low, high)
		}
	}
}

// A job that was just taken is in no count until the process beats, which it does by itself.
func TestWhatSidekiqTookRunsFromItsNextBeatOn(t *testing.T) {
	l, engine := redistest.Start(t, preset, driver.RedisOptions{}, newLibrary)
	l.Insert("mail", 2)
	l.Do("start", map[string]any{"queue": "mail", "n": 2, "silent": true})
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
