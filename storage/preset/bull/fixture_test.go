package bull_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/bulltest"
)

// A fixture writes the keys that the scripts of Bull write.
type fixture struct {
	tb     testing.TB
	redis  *storagetest.RedisServer
	prefix string
	now    func() time.Time
	last   int // id
}

var _ storagetest.Fixture = (*fixture)(nil)

func newFixture(tb testing.TB, server *storagetest.RedisServer) *fixture {
	return &fixture{tb: tb, redis: server, prefix: "bull", now: time.Now}
}

func (f *fixture) key(queue, name string) string { return f.prefix + ":" + queue + ":" + name }

// do runs a command on a key of the queue.
func (f *fixture) do(queue, command, name string, args ...string) {
	f.tb.Helper()
	f.redis.Do(f.tb, append([]string{command, f.key(queue, name)}, args...)...)
}

// add adds a job's hash, with other fields as given, and returns its id.
func (f *fixture) add(queue string, at time.Time, delay time.Duration, fields map[string]string) string {
	f.tb.Helper()
	f.last++
	id := strconv.Itoa(f.last)
	usual := map[string]string{
		"name": "__default__", "data": `{"to":"x"}`, "timestamp": bulltest.Millis(at), "priority": "0",
		"opts":  fmt.Sprintf(`{"delay":%d,"attempts":1,"timestamp":%s}`, delay.Milliseconds(), bulltest.Millis(at)),
		"delay": strconv.FormatInt(delay.Milliseconds(), 10),
	}
	f.do(queue, "INCR", "id")
	f.do(queue, "HSET", id, bulltest.Hash(usual, fields)...)
	return id
}

// Insert implements storagetest.Fixture.
func (f *fixture) Insert(queue string, n int) {
	f.tb.Helper()
	for range n {
		f.insert(queue, 0)
	}
}

// insert adds a job that has waited for some time. While the queue is paused, jobs are put into another list.
func (f *fixture) insert(queue string, age time.Duration) {
	f.tb.Helper()
	target := "wait"
	if paused, _ := f.redis.Do(f.tb, "EXISTS", f.key(queue, "meta-paused")).AsBool(); paused {
		target = "paused"
	}
	f.do(queue, "LPUSH", target, f.add(queue, f.now().Add(-age), 0, nil))
	f.do(queue, "PUBLISH", "waiting@token", strconv.Itoa(f.last))
}

// Schedule implements storagetest.Fixture.
func (f *fixture) Schedule(queue string, n int, in time.Duration) {
	f.tb.Helper()
	f.delay(queue, n, in, nil)
}

func (f *fixture) delay(queue string, n int, in time.Duration, fields map[string]string) {
	f.tb.Helper()
	due := f.now().Add(in)
	for range n {
		id := f.add(queue, due.Add(-max(in, time.Second)), max(in, time.Second), fields)
		f.do(queue, "ZADD", "delayed", strconv.FormatInt(due.UnixMilli()<<12+int64(f.last&0xfff), 10), id)
		f.do(queue, "PUBLISH", "delayed", bulltest.Millis(due))
	}
}

// Pause implements storagetest.Fixture.
func (f *fixture) Pause(queue string) {
	f.tb.Helper()
	if waiting, _ := f.redis.Do(f.tb, "EXISTS", f.key(queue, "wait")).AsBool(); waiting {
		f.do(queue, "RENAME", "wait", f.key(queue, "paused"))
	}
	f.do(queue, "SET", "meta-paused", "1")
	f.do(queue, "HSET", "meta", "paused", "1") // since 4
}

// Run implements storagetest.Fixture.
func (f *fixture) Run(queue string, n int) {
	f.tb.Helper()
	for range n {
		id := f.add(queue, f.now(), 0, map[string]string{"processedOn": bulltest.Millis(f.now())})
		f.do(queue, "LPUSH", "active", id)
		f.do(queue, "SET", id+":lock", "token", "PX", "30000")
	}
}

// Orphan implements storagetest.Fixture: the jobs' locks have expired.
func (f *fixture) Orphan(queue string, n int, age time.Duration) {
	f.tb.Helper()
	then := f.now().Add(-age)
	for range n {
		f.do(queue, "LPUSH", "active", f.add(queue, then, 0, map[string]string{"processedOn": bulltest.Millis(then)}))
	}
}

// Fail implements storagetest.Fixture.
func (f *fixture) Fail(queue string, n int, in time.Duration) {
	f.tb.Helper()
	f.delay(queue, n, in, map[string]string{"processedOn": bulltest.Millis(f.now().Add(min(in, 0))), "attemptsMade": "1", "failedReason": "x"})
}

// Snooze implements storagetest.Fixture.
func (f *fixture) Snooze(queue string, n int, in time.Duration) {
	f.tb.Helper()
	f.Fail(queue, n, in)
}

// Cancel implements storagetest.Fixture: removed jobs leave nothing.
func (f *fixture) Cancel(queue string, n int) {
	f.tb.Helper()
	for range n {
		f.do(queue, "DEL", f.add(queue, f.now(), 0, nil))
	}
}

// Finish implements storagetest.Fixture: some complete, some fail for good.
func (f *fixture) Finish(queue string, n int) {
	f.tb.Helper()
	for i := range n {
		id := f.add(queue, f.now(), 0, map[string]string{"finishedOn": bulltest.Millis(f.now())})
		f.do(queue, "ZADD", []string{"completed", "failed"}[i%2], bulltest.Millis(f.now()), id)
	}
}
