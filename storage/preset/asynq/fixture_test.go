package asynq_test

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// A fixture writes the keys that Asynq's scripts write. What of a task nobody reads is left out.
type fixture struct {
	tb     testing.TB
	server *storagetest.RedisServer
	tasks  *atomic.Int64
	now    func() time.Time
}

func newFixture(tb testing.TB, server *storagetest.RedisServer) fixture {
	return fixture{tb, server, &atomic.Int64{}, time.Now}
}

// lease is how long Asynq's leases are, from each heartbeat on.
const lease = 30 * time.Second

func key(queue, name string) string { return "asynq:{" + queue + "}:" + name }

func (f fixture) do(command ...string) {
	f.tb.Helper()
	f.server.Do(f.tb, command...)
}

// seconds is a time from now, as Asynq stores it.
func (f fixture) seconds(in time.Duration) string {
	return strconv.FormatInt(f.now().Add(in).Unix(), 10)
}

// list makes the queue one that Asynq lists.
func (f fixture) list(queue string) { f.do("SADD", "asynq:queues", queue) }

// add makes n tasks in a state and puts each where put says.
func (f fixture) add(queue string, n int, state string, put func(id string)) {
	f.tb.Helper()
	f.list(queue)
	for range n {
		id := fmt.Sprintf("task-%d", f.tasks.Add(1))
		f.do("HSET", key(queue, "t:"+id), "msg", "\x0a\x04mail", "state", state)
		put(id)
	}
}

func (f fixture) Insert(queue string, n int) { f.insert(queue, n, 0) }

// insert adds tasks that have been pending for some time.
func (f fixture) insert(queue string, n int, age time.Duration) {
	f.tb.Helper()
	f.add(queue, n, "pending", func(id string) {
		f.do("HSET", key(queue, "t:"+id), "pending_since", strconv.FormatInt(f.now().Add(-age).UnixNano(), 10))
		f.do("LPUSH", key(queue, "pending"), id)
	})
}

// put adds tasks to a sorted set.
func (f fixture) put(queue, set string, n int, in time.Duration) {
	f.tb.Helper()
	f.add(queue, n, set, func(id string) { f.do("ZADD", key(queue, set), f.seconds(in), id) })
}

func (f fixture) Schedule(queue string, n int, in time.Duration) {
	f.put(queue, "scheduled", n, in)
}

func (f fixture) Pause(queue string) {
	f.list(queue)
	f.do("SETNX", key(queue, "paused"), f.seconds(0))
}

func (f fixture) Run(queue string, n int) { f.Orphan(queue, n, 0) }

func (f fixture) Orphan(queue string, n int, age time.Duration) {
	f.tb.Helper()
	f.add(queue, n, "active", func(id string) {
		f.do("LPUSH", key(queue, "active"), id)
		f.do("ZADD", key(queue, "lease"), f.seconds(lease-age), id)
	})
}

func (f fixture) Fail(queue string, n int, in time.Duration) { f.put(queue, "retry", n, in) }

func (f fixture) Snooze(queue string, n int, in time.Duration) { f.Fail(queue, n, in) }

func (f fixture) Cancel(queue string, n int) { f.put(queue, "archived", n, 0) }

func (f fixture) Finish(queue string, n int) { f.put(queue, "completed", n, time.Hour) }

// group adds n tasks to a group.
func (f fixture) group(queue, group string, n int) {
	f.tb.Helper()
	f.add(queue, n, "aggregating", func(id string) {
		f.do("ZADD", key(queue, "g:"+group), f.seconds(0), id)
		f.do("SADD", key(queue, "groups"), group)
	})
}

// batch takes a group as a server does that makes its tasks one, with so much time left for it.
func (f fixture) batch(queue, group string, left time.Duration) {
	f.tb.Helper()
	batch := key(queue, "g:"+group) + ":4f2d"
	f.do("RENAME", key(queue, "g:"+group), batch)
	f.do("ZADD", key(queue, "aggregation_sets"), f.seconds(left), batch)
	f.do("SREM", key(queue, "groups"), group)
}
