package rq_test

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// A fixture writes the keys that RQ writes. What of a job nobody reads is left out.
type fixture struct {
	tb     testing.TB
	server *storagetest.RedisServer
	jobs   *atomic.Int64
	now    func() time.Time
}

func newFixture(tb testing.TB, server *storagetest.RedisServer) fixture {
	return fixture{tb, server, &atomic.Int64{}, time.Now}
}

// lease is for how long a worker vouches for a job, twice a minute.
const lease = 90 * time.Second

func (f fixture) do(command ...string) {
	f.tb.Helper()
	f.server.Do(f.tb, command...)
}

// seconds is a time from now, as RQ's sorted sets have it.
func (f fixture) seconds(in time.Duration) string {
	return strconv.FormatInt(f.now().Add(in).Unix(), 10)
}

// iso is a time from now, as RQ's hashes have it.
func (f fixture) iso(in time.Duration) string {
	return f.now().Add(in).UTC().Format("2006-01-02T15:04:05.000000Z")
}

// list makes the queue one that RQ lists.
func (f fixture) list(queue string) { f.do("SADD", "rq:queues", "rq:queue:"+queue) }

// add makes n jobs in a state and puts each where put says.
func (f fixture) add(queue string, n int, state string, put func(id string)) {
	f.tb.Helper()
	f.list(queue)
	for range n {
		id := fmt.Sprintf("job-%d", f.jobs.Add(1))
		f.do("HSET", "rq:job:"+id, "origin", queue, "status", state, "data", "\x78\x9c\x00", "created_at", f.iso(0))
		put(id)
	}
}

func (f fixture) Insert(queue string, n int) { f.insert(queue, n, 0) }

// insert adds jobs that have been waiting for some time.
func (f fixture) insert(queue string, n int, age time.Duration) {
	f.tb.Helper()
	f.add(queue, n, "queued", func(id string) {
		f.do("HSET", "rq:job:"+id, "enqueued_at", f.iso(-age))
		f.do("RPUSH", "rq:queue:"+queue, id)
	})
}

// put adds jobs to a sorted set.
func (f fixture) put(queue, set string, n int, in time.Duration) {
	f.tb.Helper()
	f.add(queue, n, set, func(id string) { f.do("ZADD", "rq:"+set+":"+queue, f.seconds(in), id) })
}

func (f fixture) Schedule(queue string, n int, in time.Duration) { f.put(queue, "scheduled", n, in) }

// Pause is never called: a suspension is of all queues.
func (f fixture) Pause(string) { f.tb.Fatal("RQ pauses no single queue") }

func (f fixture) Run(queue string, n int) { f.Orphan(queue, n, 0) }

func (f fixture) Orphan(queue string, n int, age time.Duration) { f.put(queue, "wip", n, lease-age) }

func (f fixture) Fail(queue string, n int, in time.Duration) { f.Schedule(queue, n, in) }

func (f fixture) Snooze(queue string, n int, in time.Duration) { f.Schedule(queue, n, in) }

func (f fixture) Cancel(queue string, n int) { f.put(queue, "canceled", n, 0) }

func (f fixture) Finish(queue string, n int) { f.put(queue, "finished", n, 500*time.Second) }

// work registers a worker of the queue.
func (f fixture) work(queue, name string) {
	f.tb.Helper()
	f.do("SADD", "rq:workers", "rq:worker:"+name)
	f.do("SADD", "rq:workers:"+queue, "rq:worker:"+name)
	f.do("HSET", "rq:worker:"+name, "birth", f.iso(-time.Hour), "last_heartbeat", f.iso(0), "queues", "other,"+queue)
}
