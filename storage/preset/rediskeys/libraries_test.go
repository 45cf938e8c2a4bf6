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
	tb     testing.TB
	server *storagetest.RedisServer
	node   *storagetest.Producer
	id     int
}

func newLibrary(tb testing.TB, server *storagetest.RedisServer) library {
	tb.Helper()
	l := library{tb: tb, server: server, node: storagetest.Node(tb, "bee-queue")}
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

func jobs(queue string, n int) map[string]any { return map[string]any{"queue": queue, "n": n} }

func (l library) Insert(queue string, n int) {
	l.tb.Helper()
	call[any](l, "enqueue", jobs(queue, n))
}

// delay has Bee-Queue put jobs off, by no less than a day, and lets the time pass that is more than in: it puts off no
// job into the past.
func (l library) delay(queue string, in time.Duration, put func(after float64)) {
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
	put((day + in).Seconds())
	for _, id := range delayed() {
		if !slices.Contains(before, id) {
			l.server.Do(l.tb, "ZINCRBY", "bq:"+queue+":delayed", strconv.FormatInt(-day.Milliseconds(), 10), id)
		}
	}
}

func (l library) Schedule(queue string, n int, in time.Duration) {
	l.tb.Helper()
	l.delay(queue, in, func(after float64) {
		call[any](l, "schedule", map[string]any{"queue": queue, "n": n, "after": after})
	})
}

func (l library) Pause(string) { l.tb.Fatal("Bee-Queue pauses no queue in Redis") }

func (l library) Run(queue string, n int) {
	l.tb.Helper()
	l.Insert(queue, n)
	call[any](l, "start", jobs(queue, n))
}

func (l library) Orphan(string, int, time.Duration) { l.tb.Fatal("Bee-Queue gives all jobs back") }

func (l library) Fail(queue string, n int, in time.Duration) {
	l.tb.Helper()
	l.Run(queue, n)
	l.delay(queue, in, func(after float64) { call[any](l, "fail", map[string]any{"queue": queue, "after": after}) })
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
	call[any](l, "finish", map[string]any{"queue": queue})
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
	call[any](l, "fail", map[string]any{"queue": "mail"}) // for good
	l.Fail("mail", 1, time.Hour)
	l.Run("mail", 2)
	call[any](l, "abandon", map[string]any{"queue": "mail"})
	l.Run("mail", 4)
	l.Schedule("mail", 3, time.Hour)
	l.Schedule("mail", 2, -time.Hour)
	l.Insert("mail", 5)
	got := expect(t, engine, driver.Queue{Name: "mail", Known: true, Ready: 7, Running: 6, Scheduled: 4})
	redistest.Near(t, "oldest", got.Oldest, time.Hour)
	redistest.Near(t, "next due", got.NextDue, time.Hour)

	said := call[struct{ Counts map[string]int64 }](l, "report", map[string]any{"queue": "mail"}).Counts
	const due = 2 // Bee-Queue counts them as delayed until a worker moves them
	counted := map[string]int64{"waiting": got.Ready - due, "active": got.Running, "delayed": got.Scheduled + due}
	maps.DeleteFunc(said, func(state string, _ int64) bool { return state == "succeeded" || state == "failed" })
	if diff := cmp.Diff(said, counted); diff != "" {
		t.Errorf("(-Bee-Queue +ours):\n%s", diff)
	}
}
