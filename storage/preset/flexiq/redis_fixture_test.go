package flexiq_test

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// A redisFixture writes the keys that FlexiQ writes in Redis. Of a job's document and a worker's fields those are left
// out that nobody reads.
type redisFixture struct {
	tb     testing.TB
	server *storagetest.RedisServer
	jobs   *atomic.Int64
	now    func() time.Time
}

func newRedisFixture(tb testing.TB, server *storagetest.RedisServer) redisFixture {
	return redisFixture{tb, server, &atomic.Int64{}, time.Now}
}

func (f redisFixture) do(command ...string) {
	f.tb.Helper()
	f.server.Do(f.tb, command...)
}

func (f redisFixture) millis(in time.Duration) int64 { return f.now().Add(in).UnixMilli() }

// id makes a job of the default namespace, which is live in a status.
func (f redisFixture) id(queue string, status int) string {
	f.tb.Helper()
	id := fmt.Sprintf("job-%d", f.jobs.Add(1))
	f.do("SET", "flexiq:job:"+id, `{"id":"`+id+`","task_name":"mail","payload":[1,2,3]}`)
	f.do("SADD", fmt.Sprintf("flexiq:jobs:status:%d", status), id)
	f.do("SADD", "flexiq:jobs:by_queue:"+queue, id)
	f.do("SADD", "flexiq:jobs:by_ns:-", id)
	return id
}

// add adds a pending job.
func (f redisFixture) add(queue string, priority int64, in time.Duration) {
	f.tb.Helper()
	score := (1000-priority)*10_000_000_000_000 + f.millis(in)
	f.do("ZADD", "flexiq:queue:"+queue+":pending", strconv.FormatInt(score, 10), f.id(queue, pending))
}

func (f redisFixture) Insert(queue string, n int) { f.Schedule(queue, n, 0) }

func (f redisFixture) Schedule(queue string, n int, in time.Duration) {
	f.tb.Helper()
	for i := range n {
		f.add(queue, int64(i%3), in)
	}
}

func (f redisFixture) Pause(queue string) { f.do("SADD", "flexiq:queues:paused", queue) }

func (f redisFixture) Run(queue string, n int) { f.work(queue, n, 0, n) }

func (f redisFixture) Orphan(queue string, n int, age time.Duration) { f.work(queue, n, age, n) }

// work adds n jobs that a worker took in hand age ago, and the worker, whose last heartbeat is as old.
func (f redisFixture) work(queue string, n int, age time.Duration, threads int) {
	f.tb.Helper()
	worker := fmt.Sprintf("worker-%d", f.jobs.Add(1))
	for range n {
		id := f.id(queue, running)
		f.do("SET", "flexiq:exec_claim:"+id, fmt.Sprintf("%s:%d.1", worker, f.millis(-age)), "PX", "86400000")
	}
	f.do("SADD", "flexiq:workers:all", worker)
	f.do("HSET", "flexiq:worker:"+worker, "last_heartbeat", strconv.FormatInt(f.millis(-age), 10),
		"queues", "other,"+queue, "status", "active", "threads", strconv.Itoa(threads), "namespace", "-")
}

func (f redisFixture) Fail(queue string, n int, in time.Duration) { f.Schedule(queue, n, in) }

func (f redisFixture) Snooze(queue string, n int, in time.Duration) { f.Schedule(queue, n, in) }

func (f redisFixture) Cancel(queue string, n int) { f.Finish(queue, n) }

func (f redisFixture) Finish(queue string, n int) {
	for range n {
		f.do("SADD", "flexiq:archived:by_queue:"+queue, fmt.Sprintf("job-%d", f.jobs.Add(1)))
	}
}
