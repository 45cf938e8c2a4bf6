package celery_test

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A fixture writes the keys that Celery writes by Kombu. What of a task nobody reads is left out.
type fixture struct {
	tb     testing.TB
	server *storagetest.RedisServer
	prefix string
	tasks  *atomic.Int64
}

func newFixture(tb testing.TB, server *storagetest.RedisServer) fixture {
	return fixture{tb, server, "", &atomic.Int64{}}
}

func (f fixture) do(command ...string) {
	f.tb.Helper()
	f.server.Do(f.tb, command...)
}

// bind declares a queue of an exchange, as publishing and consuming does.
func (f fixture) bind(exchange, key, pattern, queue string) {
	f.do("SADD", f.prefix+"_kombu.binding."+exchange, key+"\x06\x16"+pattern+"\x06\x16"+queue)
}

// message is a task sent to an exchange by a routing key.
func (f fixture) message(exchange, key, body string) (tag string, message map[string]any) {
	tag = fmt.Sprintf("tag-%d", f.tasks.Add(1))
	return tag, map[string]any{
		"body": body, "content-type": "application/json", "headers": map[string]any{"task": "mail.send", "eta": nil},
		"properties": map[string]any{
			"delivery_tag": tag, "priority": 0, "delivery_info": map[string]any{"exchange": exchange, "routing_key": key},
		},
	}
}

func (f fixture) Insert(queue string, n int) {
	f.tb.Helper()
	f.bind(queue, queue, "", queue)
	for range n {
		_, message := f.message("", queue, "W10=")
		f.do("LPUSH", f.prefix+queue, redistest.JSON(f.tb, message))
	}
}

func (f fixture) Run(queue string, n int) {
	f.tb.Helper()
	f.bind(queue, queue, "", queue)
	f.hold("", queue, "W10=", n)
}

// hold puts n tasks into a worker's hands.
func (f fixture) hold(exchange, key, body string, n int) {
	f.tb.Helper()
	for range n {
		tag, message := f.message(exchange, key, body)
		f.do("ZADD", f.prefix+"unacked_index", strconv.FormatInt(time.Now().Unix(), 10), tag)
		f.do("HSET", f.prefix+"unacked", tag, redistest.JSON(f.tb, []any{message, exchange, key}))
	}
}

// Finish leaves nothing of its tasks behind but the queue's binding.
func (f fixture) Finish(queue string, n int) {
	f.tb.Helper()
	f.Insert(queue, n)
	f.do("RPOP", f.prefix+queue, strconv.Itoa(n))
}

// Cancel is Finish: a worker takes a revoked task like any, and drops it.
func (f fixture) Cancel(queue string, n int) { f.Finish(queue, n) }

// What follows is never called: tasks that are put off are in workers' hands, and a queue cannot be paused.

func (f fixture) Schedule(string, int, time.Duration) {
	f.tb.Fatal("Celery schedules nothing in Redis")
}

func (f fixture) Pause(string) { f.tb.Fatal("Celery pauses no queue") }

func (f fixture) Orphan(string, int, time.Duration) { f.tb.Fatal("Celery gives all tasks back") }

func (f fixture) Fail(string, int, time.Duration) { f.tb.Fatal("Celery retries nothing in Redis") }

func (f fixture) Snooze(string, int, time.Duration) { f.tb.Fatal("Celery retries nothing in Redis") }
