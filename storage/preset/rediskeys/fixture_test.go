package rediskeys_test

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// beeQueue is the README's example.
var beeQueue = driver.RedisOptions{Keys: []driver.RedisKey{
	{Key: "bq:{queue}:waiting", Type: "list", State: "ready"},
	{Key: "bq:{queue}:active", Type: "list", State: "running"},
	{Key: "bq:{queue}:delayed", Type: "zset", State: "scheduled", Unit: "ms"},
}}

// A fixture writes the keys that Bee-Queue writes. What of a job nobody reads is left out.
type fixture struct {
	tb     testing.TB
	server *storagetest.RedisServer
	jobs   *atomic.Int64
	now    func() time.Time
}

func newFixture(tb testing.TB, server *storagetest.RedisServer) fixture {
	return fixture{tb, server, &atomic.Int64{}, time.Now}
}

func (f fixture) do(command ...string) {
	f.tb.Helper()
	f.server.Do(f.tb, command...)
}

// at is a time from now in whole units.
func (f fixture) at(in, unit time.Duration) string {
	return strconv.FormatInt(f.now().Add(in).UnixNano()/int64(unit), 10)
}

// add makes n jobs of a queue and puts each where put says.
func (f fixture) add(queue string, n int, put func(id string)) {
	f.tb.Helper()
	for range n {
		id := fmt.Sprint(f.jobs.Add(1))
		f.do("HSET", "bq:"+queue+":jobs", id, `{"data":{},"options":{},"status":"created"}`)
		put(id)
	}
}

func (f fixture) Insert(queue string, n int) {
	f.tb.Helper()
	f.add(queue, n, func(id string) { f.do("LPUSH", "bq:"+queue+":waiting", id) })
}

func (f fixture) Schedule(queue string, n int, in time.Duration) {
	f.tb.Helper()
	f.add(queue, n, func(id string) { f.do("ZADD", "bq:"+queue+":delayed", f.at(in, time.Millisecond), id) })
}

func (f fixture) Run(queue string, n int) {
	f.tb.Helper()
	f.add(queue, n, func(id string) { f.do("LPUSH", "bq:"+queue+":active", id) })
}

func (f fixture) Fail(queue string, n int, in time.Duration) { f.Schedule(queue, n, in) }

func (f fixture) Snooze(queue string, n int, in time.Duration) { f.Schedule(queue, n, in) }

// Finish keeps the jobs, as Bee-Queue does unless it is told otherwise, but leaves them in no key of the three.
func (f fixture) Finish(queue string, n int) {
	f.tb.Helper()
	f.add(queue, n, func(id string) { f.do("SADD", "bq:"+queue+":succeeded", id) })
}

func (f fixture) Cancel(queue string, n int) {
	f.tb.Helper()
	f.add(queue, n, func(id string) { f.do("HDEL", "bq:"+queue+":jobs", id) })
}

// What follows is never called: Bee-Queue's workers pause by themselves, and give all jobs back.

func (f fixture) Pause(string) { f.tb.Fatal("Bee-Queue pauses no queue in Redis") }

func (f fixture) Orphan(string, int, time.Duration) { f.tb.Fatal("Bee-Queue gives all jobs back") }
