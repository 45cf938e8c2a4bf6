package sidekiq_test

import (
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// A fixture writes as Sidekiq 8 does.
type fixture struct{ redistest.Writer }

func newFixture(tb testing.TB, server *storagetest.RedisServer) fixture {
	return fixture{redistest.NewWriter(tb, server, "")}
}

// job is one, with an id of its own, and more fields.
func (f fixture) job(queue string, more map[string]any) string {
	*f.Last++
	job := map[string]any{
		"retry": true, "queue": queue, "class": "Work", "args": []any{*f.Last},
		"jid": fmt.Sprintf("%024x", *f.Last), "created_at": time.Now().UnixMilli(),
	}
	maps.Copy(job, more)
	return redistest.JSON(f.TB, job)
}

// at writes a score.
func at(in time.Duration) string {
	return fmt.Sprintf("%f", float64(time.Now().Add(in).UnixMicro())/1e6)
}

// push adds jobs to the list of a queue.
func (f fixture) push(queue string, jobs ...string) {
	f.TB.Helper()
	f.Do("SADD", "queues", queue)
	f.Do("LPUSH", "queue:"+queue, jobs...)
}

func (f fixture) Insert(queue string, n int) {
	f.TB.Helper()
	jobs := make([]string, n)
	for i := range jobs {
		jobs[i] = f.job(queue, map[string]any{"enqueued_at": time.Now().UnixMilli()})
	}
	f.push(queue, jobs...)
}

// delay adds n jobs to a sorted set; the queue's name is not registered by that.
func (f fixture) delay(set, queue string, n int, in time.Duration) {
	f.TB.Helper()
	var args []string
	for range n {
		args = append(args, at(in), f.job(queue, nil))
	}
	f.Do("ZADD", set, args...)
}

func (f fixture) Schedule(queue string, n int, in time.Duration) { f.delay("schedule", queue, n, in) }

func (f fixture) Pause(queue string) { f.Do("SADD", "paused", queue) }

// A worker is what a process tells of itself.
type worker struct {
	info     map[string]any
	threads  int
	work     map[string]int // how many jobs it runs, by queue
	workKey  string
	beat     time.Duration
	quiet    bool
	identity string
	expired  bool // the hash is gone
}

// start has a process beat.
func (f fixture) start(w worker) string {
	f.TB.Helper()
	*f.Last++
	if w.identity == "" {
		w.identity = fmt.Sprintf("mail-7d9f-abcde:%d:%012x", *f.Last, *f.Last)
	}
	if w.workKey == "" {
		w.workKey = ":work"
	}
	busy := 0
	for queue, n := range w.work {
		busy += n
		for range n {
			*f.Last++
			f.Do("HSET", w.identity+w.workKey, fmt.Sprintf("tid%d", *f.Last),
				redistest.JSON(f.TB, map[string]any{"queue": queue, "payload": f.job(queue, nil), "run_at": time.Now().Unix()}))
		}
	}
	f.Do("SADD", "processes", w.identity)
	if !w.expired {
		f.Do("HSET", w.identity, "info", redistest.JSON(f.TB, w.info), "concurrency", fmt.Sprint(w.threads), "busy", fmt.Sprint(busy),
			"beat", at(w.beat), "rtt_us", "120", "quiet", strconv.FormatBool(w.quiet), "rss", "80000")
	}
	return w.identity
}

// sidekiq8 is the info of a process with one capsule.
func sidekiq8(threads int, queues ...string) map[string]any {
	weights := map[string]any{}
	for _, queue := range queues {
		weights[queue] = 0
	}
	return map[string]any{
		"hostname": "mail-7d9f-abcde", "pid": 1, "tag": "app", "queues": queues, "version": "8.1.7", "embedded": false,
		"capsules": map[string]any{"default": map[string]any{"concurrency": threads, "mode": "strict", "weights": weights}},
	}
}

func (f fixture) Run(queue string, n int) {
	f.TB.Helper()
	f.Do("SADD", "queues", queue)
	f.start(worker{info: sidekiq8(n, queue), threads: n, work: map[string]int{queue: n}})
}

// Orphan leaves what two dead processes ran: one whose hash has expired, and one whose hash was restored from a backup.
func (f fixture) Orphan(queue string, n int, age time.Duration) {
	f.TB.Helper()
	f.Do("SADD", "queues", queue)
	work := map[string]int{queue: n}
	f.start(worker{info: sidekiq8(n, queue), work: work, expired: true})
	f.start(worker{info: sidekiq8(n, queue), work: work, beat: -age})
}

func (f fixture) Fail(queue string, n int, in time.Duration) {
	f.TB.Helper()
	f.Do("SADD", "queues", queue)
	f.delay("retry", queue, n, in)
}

func (f fixture) Snooze(queue string, n int, in time.Duration) { f.Schedule(queue, n, in) }

func (f fixture) Cancel(queue string, _ int) { f.Do("SADD", "queues", queue) }

func (f fixture) Finish(queue string, n int) {
	f.TB.Helper()
	f.Do("SADD", "queues", queue)
	f.delay("dead", queue, n, -time.Hour)
}
