package resque_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// A fixture writes as Resque 3 and resque-scheduler 5 do.
type fixture struct {
	tb     testing.TB
	server *storagetest.RedisServer
	prefix string
	last   *int // job or worker
}

func newFixture(tb testing.TB, server *storagetest.RedisServer) fixture {
	return fixture{tb, server, "resque:", new(int)}
}

func (f fixture) do(command, key string, args ...string) {
	f.tb.Helper()
	f.server.Do(f.tb, append([]string{command, f.prefix + key}, args...)...)
}

func text(tb testing.TB, value any) string {
	tb.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

func (f fixture) Insert(queue string, n int) {
	f.tb.Helper()
	jobs := make([]string, n)
	for i := range jobs {
		*f.last++
		jobs[i] = text(f.tb, map[string]any{"class": "Work", "args": []int{*f.last}})
	}
	f.do("SADD", "queues", queue)
	f.do("RPUSH", "queue:"+queue, jobs...)
}

// Schedule does as resque-scheduler, which does not register the queue.
func (f fixture) Schedule(queue string, n int, in time.Duration) {
	f.tb.Helper()
	jobs := make([]string, n)
	for i := range jobs {
		*f.last++
		jobs[i] = text(f.tb, map[string]any{"class": "Work", "args": []int{*f.last}, "queue": queue})
	}
	f.delay(time.Now().Add(in), jobs...)
}

func (f fixture) delay(at time.Time, jobs ...string) {
	f.tb.Helper()
	instant := strconv.FormatInt(at.Unix(), 10)
	f.do("RPUSH", "delayed:"+instant, jobs...)
	f.do("ZADD", "delayed_queue_schedule", instant, instant)
}

func (f fixture) Pause(string) { f.tb.Fatal("Resque cannot pause a queue") }

// A worker is what one writes of itself.
type worker struct {
	queues string // and patterns
	runs   string // the queue of its job; "" for none
	since  string // of its job
	beat   string // "" for none
}

// rfc writes a time as Resque does.
func rfc(ago time.Duration) string { return time.Now().Add(-ago).UTC().Format(time.RFC3339) }

func (f fixture) start(w worker) {
	f.tb.Helper()
	*f.last++
	id := fmt.Sprintf("host:%d:%s", *f.last, w.queues)
	f.do("SADD", "workers", id)
	f.do("SET", "worker:"+id+":started", time.Now().String())
	if w.beat != "" {
		f.do("HSET", "workers:heartbeat", id, w.beat)
	}
	if w.runs != "" {
		f.do("SET", "worker:"+id, text(f.tb, map[string]any{
			"queue": w.runs, "run_at": w.since, "payload": map[string]any{"class": "Work", "args": []any{map[string]string{"queue": "no"}}},
		}))
	}
}

func (f fixture) Run(queue string, n int) {
	f.tb.Helper()
	f.do("SADD", "queues", queue)
	for range n {
		f.start(worker{queues: "*", runs: queue, since: rfc(time.Minute), beat: rfc(time.Second)})
	}
}

// Orphan leaves workers that do not beat any more, and workers that never did.
func (f fixture) Orphan(queue string, n int, age time.Duration) {
	f.tb.Helper()
	f.do("SADD", "queues", queue)
	for range n {
		f.start(worker{queues: "*", runs: queue, since: rfc(age), beat: rfc(age)})
		f.start(worker{queues: "*", runs: queue, since: rfc(age)})
	}
}

// Fail does as resque-retry, which delays the job.
func (f fixture) Fail(queue string, n int, in time.Duration) {
	f.tb.Helper()
	f.do("SADD", "queues", queue)
	f.Schedule(queue, n, in)
}

func (f fixture) Snooze(queue string, n int, in time.Duration) { f.Fail(queue, n, in) }

func (f fixture) Cancel(queue string, _ int) { f.do("SADD", "queues", queue) }

func (f fixture) Finish(queue string, n int) {
	f.tb.Helper()
	f.do("SADD", "queues", queue)
	for range n {
		f.do("RPUSH", "failed", text(f.tb, map[string]any{"queue": queue, "failed_at": rfc(0)}))
	}
}
