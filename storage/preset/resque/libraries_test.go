//go:build libraries

package resque_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A library writes with node-resque itself.
type library struct{ storagetest.LibraryFixture }

func newLibrary(tb testing.TB, server *storagetest.RedisServer) library {
	tb.Helper()
	return library{storagetest.OpenLibraryFixture(tb, server, storagetest.Node(tb, "resque"), nil)}
}

func (l library) Pause(string) { l.TB.Fatal("node-resque cannot pause") }

// Orphan crashes the workers, and makes that longer ago.
func (l library) Orphan(queue string, n int, age time.Duration) {
	l.TB.Helper()
	l.Run(queue, n)
	for _, name := range storagetest.Ask[[]string](l.Library, "abandon", map[string]any{"queue": queue}) {
		ping := map[string]any{"time": time.Now().Add(-age).Unix(), "name": name, "queues": queue}
		l.Server.Do(l.TB, "SET", "resque:worker:ping:"+name, redistest.JSON(l.TB, ping))
	}
}

func TestNodeResqueItselfKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, redistest.Harness(preset, driver.RedisOptions{}, newLibrary, abilities))
}

func TestTheCountsAreWhatNodeResqueReports(t *testing.T) {
	l, engine := redistest.Start(t, preset, driver.RedisOptions{}, newLibrary)
	l.Finish("mail", 2)
	l.Run("images", 1)
	l.Fail("mail", 2, -time.Minute)
	l.Fail("mail", 1, time.Hour)
	l.Run("mail", 3)
	l.FailForGood("mail")
	l.Run("mail", 4)
	l.Schedule("mail", 3, time.Hour)
	l.Schedule("mail", 2, -time.Hour)
	l.Schedule("images", 7, -time.Hour)
	l.Insert("mail", 5)
	compare := func(when string, want driver.Queue) {
		t.Helper()
		said := func(what string) int64 { return int64(l.Report(want.Name).Counts[what]) }
		reported := driver.Queue{
			Name: want.Name, Known: said("queues") == 1,
			Ready: said("length") + said("due"), Running: said("running"), Scheduled: said("later"), Pool: want.Pool,
		}
		redistest.Agrees(t, engine, when, want, reported)
	}
	mail := driver.Queue{Name: "mail", Known: true, Ready: 9, Running: 4, Scheduled: 4, Pool: &driver.Pool{Workers: 4, Capacity: 4}}
	images := driver.Queue{Name: "images", Known: true, Ready: 7, Running: 1, Pool: &driver.Pool{Workers: 1, Capacity: 1}}
	compare("before the scheduler", mail)
	compare("before the scheduler", images)
	l.Do("promote", nil)
	compare("after the scheduler", mail)
	compare("after the scheduler", images)
}
