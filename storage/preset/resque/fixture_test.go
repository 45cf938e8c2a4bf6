package resque_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A fixture writes as Resque 3 and resque-scheduler 5 do.
type fixture struct{ redistest.Writer }

func newFixture(tb testing.TB, server *storagetest.RedisServer) fixture {
	return fixture{redistest.NewWriter(tb, server, "resque:")}
}

func (f fixture) Insert(queue string, n int) {
	f.TB.Helper()
	jobs := make([]string, n)
	for i := range jobs {
		*f.Last++
		jobs[i] = redistest.JSON(f.TB, map[string]any{"class": "Work", "args": []int{*f.Last}})
	}
	f.Do("SADD", "queues", queue)
	f.Do("RPUSH", "queue:"+queue, jobs...)
}

// Schedule does as resque-scheduler, which does not register the queue.
func (f fixture) Schedule(queue string, n int, in time.Duration) {
	f.TB.Helper()
	jobs := make([]string, n)
	for i := range jobs {
		*f.Last++
		jobs[i] = redistest.JSON(f.TB, map[string]any{"class": "Work", "args": []int{*f.Last}, "queue": queue})
	}
	f.delay(time.Now().Add(in), jobs...)
}

func (f fixture) delay(at time.Time, jobs ...string) {
	f.TB.Helper()
	instant := strconv.FormatInt(at.Unix(), 10)
	f.Do("RPUSH", "delayed:"+instant, jobs...)
	f.Do("ZADD", "delayed_queue_schedule", instant, instant)
}

func (f fixture) Pause(string) { f.TB.Fatal("Resque cannot pause a queue") }

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
	f.TB.Helper()
	*f.Last++
	id := fmt.Sprintf("host:%d:%s", *f.Last, w.queues)
	f.Do("SADD", "workers", id)
	f.Do("SET", "worker:"+id+":started", time.Now().String())
	if w.beat != "" {
		f.Do("HSET", "workers:heartbeat", id, w.beat)
	}
	if w.runs != "" {
		f.Do("SET", "worker:"+id, redistest.JSON(f.TB, map[string]any{
			"queue": w.runs, "run_at": w.since, "payload": map[string]any{"class": "Work", "args": []any{map[string]string{"queue": "no"}}},
		}))
	}
}

func (f fixture) Run(queue string, n int) {
	f.TB.Helper()
	f.Do("SADD", "queues", queue)
	for range n {
		f.start(worker{queues: "*", runs: queue, since: rfc(time.Minute), beat: rfc(time.Second)})
	}
}

// Orphan leaves workers that do not beat any more, and workers that never did.
func (f fixture) Orphan(queue string, n int, age time.Duration) {
	f.TB.Helper()
	f.Do("SADD", "queues", queue)
	for range n {
		f.start(worker{queues: "*", runs: queue, since: rfc(age), beat: rfc(age)})
		f.start(worker{queues: "*", runs: queue, since: rfc(age)})
	}
}

// Fail does as resque-retry, which delays the job.
func (f fixture) Fail(queue string, n int, in time.Duration) {
	f.TB.Helper()
	f.Do("SADD", "queues", queue)
	f.Schedule(queue, n, in)
}

func (f fixture) Snooze(queue string, n int, in time.Duration) { f.Fail(queue, n, in) }

func (f fixture) Cancel(queue string, _ int) { f.Do("SADD", "queues", queue) }

func (f fixture) Finish(queue string, n int) {
	f.TB.Helper()
	f.Do("SADD", "queues", queue)
	for range n {
		f.Do("RPUSH", "failed", redistest.JSON(f.TB, map[string]any{"queue": queue, "failed_at": rfc(0)}))
	}
}
