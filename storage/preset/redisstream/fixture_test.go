package redisstream_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// A fixture writes and reads streams as programs do, by the group workers.
type fixture struct {
	tb     testing.TB
	server *storagetest.RedisServer
}

func newFixture(tb testing.TB, server *storagetest.RedisServer) fixture { return fixture{tb, server} }

func (f fixture) do(command ...string) {
	f.tb.Helper()
	f.server.Do(f.tb, command...)
}

// add adds n entries to a stream, whose group is made before.
func (f fixture) add(queue string, n int) (ids []string) {
	f.tb.Helper()
	if exists, err := f.server.Do(f.tb, "EXISTS", queue).AsBool(); err != nil || !exists {
		f.do("XGROUP", "CREATE", queue, "workers", "0", "MKSTREAM")
	}
	for range n {
		id, err := f.server.Do(f.tb, "XADD", queue, "*", "task", "mail").ToString()
		if err != nil {
			f.tb.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

// take has a worker get n entries, of which it acknowledges none.
func (f fixture) take(queue string, n int) {
	f.tb.Helper()
	f.do("XREADGROUP", "GROUP", "workers", "worker", "COUNT", strconv.Itoa(n), "STREAMS", queue, ">")
}

func (f fixture) Insert(queue string, n int) { f.add(queue, n) }

func (f fixture) Run(queue string, n int) {
	f.tb.Helper()
	f.add(queue, n)
	f.take(queue, n)
}

// Finish leaves the entries in the stream, as acknowledging does.
func (f fixture) Finish(queue string, n int) {
	f.tb.Helper()
	ids := f.add(queue, n)
	f.take(queue, n)
	f.do(append([]string{"XACK", queue, "workers"}, ids...)...)
}

// Cancel deletes entries that nobody has got, after which the server does not know their number any more.
func (f fixture) Cancel(queue string, n int) {
	f.tb.Helper()
	f.do(append([]string{"XDEL", queue}, f.add(queue, n)...)...)
}

// What follows is never called: a stream has no time but now, and no pause.

func (f fixture) Schedule(string, int, time.Duration) { f.tb.Fatal("a stream schedules nothing") }

func (f fixture) Pause(string) { f.tb.Fatal("a stream is not paused") }

func (f fixture) Orphan(string, int, time.Duration) { f.tb.Fatal("a group keeps all entries") }

func (f fixture) Fail(string, int, time.Duration) { f.tb.Fatal("a stream schedules nothing") }

func (f fixture) Snooze(string, int, time.Duration) { f.tb.Fatal("a stream schedules nothing") }
