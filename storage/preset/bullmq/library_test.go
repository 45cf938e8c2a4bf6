//go:build libraries

package bullmq_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// A library is a fixture that writes with BullMQ itself; where it has no call for what is to be, it writes the keys.
type library struct {
	keys *fixture
	node *storagetest.Producer
	id   int
}

var _ storagetest.Fixture = (*library)(nil)

// newLibrary opens the release of a layout, by its name in test/libraries.
func newLibrary(tb testing.TB, server *storagetest.RedisServer, layout int) *library {
	tb.Helper()
	l := &library{keys: newFixture(tb, server, layout), node: storagetest.Node(tb, "bullmq")}
	l.id = storagetest.Call[int](tb, l.node, "open",
		map[string]any{"release": fmt.Sprintf("bullmq%d", layout), "url": server.URL()})
	tb.Cleanup(func() { call[any](l, "close", "", nil) })
	return l
}

func call[T any](l *library, command, queue string, args map[string]any) T {
	l.keys.tb.Helper()
	all := map[string]any{"id": l.id, "queue": queue}
	maps.Copy(all, args)
	return storagetest.Call[T](l.keys.tb, l.node, command, all)
}

func (l *library) do(command, queue string, args map[string]any) {
	l.keys.tb.Helper()
	call[any](l, command, queue, args)
}

// enqueue adds jobs with BullMQ's options for them and returns their ids.
func (l *library) enqueue(queue string, n int, job map[string]any) []string {
	l.keys.tb.Helper()
	return call[[]string](l, "enqueue", queue, map[string]any{"n": n, "job": job})
}

// Insert implements storagetest.Fixture. BullMQ refuses names with a colon, and its libraries for other languages do not.
func (l *library) Insert(queue string, n int) {
	l.keys.tb.Helper()
	if strings.Contains(queue, ":") {
		l.keys.Insert(queue, n)
		return
	}
	l.enqueue(queue, n, nil)
}

// Schedule implements storagetest.Fixture.
func (l *library) Schedule(queue string, n int, in time.Duration) {
	l.keys.tb.Helper()
	l.do("schedule", queue, map[string]any{"n": n, "after": in.Seconds()})
}

// Pause implements storagetest.Fixture.
func (l *library) Pause(queue string) {
	l.keys.tb.Helper()
	l.do("pause", queue, nil)
}

// Run implements storagetest.Fixture.
func (l *library) Run(queue string, n int) {
	l.keys.tb.Helper()
	l.enqueue(queue, n, nil)
	l.do("start", queue, map[string]any{"n": n})
}

// Orphan implements storagetest.Fixture. The suite does not use it: see abilities.
func (l *library) Orphan(queue string, n int, _ time.Duration) {
	l.keys.tb.Helper()
	l.Run(queue, n)
	l.do("abandon", queue, nil)
}

// Fail implements storagetest.Fixture. Where the time is to have passed, it is written over.
func (l *library) Fail(queue string, n int, in time.Duration) {
	l.keys.tb.Helper()
	l.Run(queue, n)
	after := in
	if in < 0 {
		after = 1000 * time.Hour
	}
	l.do("fail", queue, map[string]any{"after": after.Seconds()})
	if in >= 0 {
		return
	}
	key, server := "bull:"+queue+":delayed", l.keys.redis
	ids, err := server.Do(l.keys.tb, "ZRANGEBYSCORE", key, score(500*time.Hour), "+inf").AsStrSlice()
	if err != nil || len(ids) != n {
		l.keys.tb.Fatalf("of %d failed jobs %q are delayed (%v)", n, ids, err)
	}
	for _, id := range ids {
		server.Do(l.keys.tb, "ZADD", key, "XX", score(in), id)
	}
}

// score is that of a job which is due after in.
func score(in time.Duration) string { return fmt.Sprint(time.Now().Add(in).UnixMilli() * 4096) }

// Snooze implements storagetest.Fixture. A job that wants to be run again later fails.
func (l *library) Snooze(queue string, n int, in time.Duration) {
	l.keys.tb.Helper()
	l.Fail(queue, n, in)
}

// Cancel implements storagetest.Fixture.
func (l *library) Cancel(queue string, n int) {
	l.keys.tb.Helper()
	l.do("cancel", queue, map[string]any{"jobs": l.enqueue(queue, n, nil)})
}

// Finish implements storagetest.Fixture.
func (l *library) Finish(queue string, n int) {
	l.keys.tb.Helper()
	l.Run(queue, n)
	l.do("finish", queue, nil)
}
