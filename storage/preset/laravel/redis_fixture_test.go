package laravel_test

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// A redisFixture writes what Laravel's RedisQueue writes, under the prefix that a new application had up to Laravel 11.
type redisFixture struct {
	tb     testing.TB
	server *storagetest.RedisServer
	prefix string
	jobs   *atomic.Int64
	now    func() time.Time
}

func newRedisFixture(tb testing.TB, server *storagetest.RedisServer) redisFixture {
	return redisFixture{tb, server, "laravel_database_", &atomic.Int64{}, time.Now}
}

func (f redisFixture) key(queue, part string) string { return f.prefix + "queues:" + queue + part }

func (f redisFixture) do(command ...string) {
	f.tb.Helper()
	f.server.Do(f.tb, command...)
}

func (f redisFixture) seconds(in time.Duration) string {
	return strconv.FormatInt(f.now().Add(in).Unix(), 10)
}

// payload is a job that was made some time ago.
func (f redisFixture) payload(age time.Duration, attempts int, delay string) string {
	return fmt.Sprintf(`{"uuid":"job-%d","displayName":"App\\Jobs\\Mail","job":"Illuminate\\Queue\\CallQueuedHandler@call",`+
		`"maxTries":null,"data":{"commandName":"App\\Jobs\\Mail","command":"O:13:\"App\\Jobs\\Mail\":1:{s:8:\"attempts\";i:9;}"},`+
		`"createdAt":%s,"id":"x","attempts":%d,"delay":%s}`, f.jobs.Add(1), f.seconds(-age), attempts, delay)
}

func (f redisFixture) Insert(queue string, n int) {
	f.tb.Helper()
	for range n {
		f.push(queue, f.payload(0, 0, "null"))
	}
}

func (f redisFixture) push(queue, payload string) {
	f.tb.Helper()
	f.do("RPUSH", f.key(queue, ""), payload)
	f.do("RPUSH", f.key(queue, ":notify"), "1")
}

// put adds jobs to a sorted set.
func (f redisFixture) put(queue, part string, n, attempts int, in time.Duration) {
	f.tb.Helper()
	for range n {
		f.do("ZADD", f.key(queue, part), f.seconds(in), f.payload(0, attempts, "null"))
	}
}

func (f redisFixture) Schedule(queue string, n int, in time.Duration) {
	f.put(queue, ":delayed", n, 0, in)
}

func (f redisFixture) Pause(string) { f.tb.Fatal("no pause of Laravel's is with its queues") }

func (f redisFixture) Run(queue string, n int) { f.Orphan(queue, n, 0) }

func (f redisFixture) Orphan(queue string, n int, age time.Duration) {
	f.put(queue, ":reserved", n, 1, 90*time.Second-age)
}

func (f redisFixture) Fail(queue string, n int, in time.Duration) {
	f.put(queue, ":delayed", n, 1, in)
}

func (f redisFixture) Snooze(queue string, n int, in time.Duration) { f.Fail(queue, n, in) }

func (f redisFixture) Cancel(queue string, n int) { f.Finish(queue, n) }

func (f redisFixture) Finish(queue string, n int) {
	f.Run(queue, n)
	f.do("ZREMRANGEBYRANK", f.key(queue, ":reserved"), strconv.Itoa(-n), "-1")
}
