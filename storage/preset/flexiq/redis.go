package flexiq

import (
	"fmt"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

// onRedis is FlexiQ 2. Its keys begin with a prefix, and their parts are set apart by colons:
//
//	queue:<queue>:pending      sorted set of the ids of pending jobs of all namespaces; see lane for the scores
//	jobs:by_queue:<queue>      set of the ids of pending and running jobs
//	jobs:by_ns:<namespace>     set of the ids of pending and running jobs, there only while it has some
//	archived:by_queue:<queue>  set of the ids of jobs that are done with
//	queues:paused              set of the names of paused queues of the default namespace
//	workers:all                set of the ids of workers; see planWorkers
//	notify:<namespace>:<queue> channel of new jobs
//
// A namespace stands there as its length in bytes, a colon and its name; the default one is a dash.
var onRedis = driver.Redis{
	Options:  driver.RedisPrefix | driver.RedisQueues,
	Defaults: driver.RedisOptions{Prefix: "flexiq:"},
	Queue:    planQueue,
	Events:   announced,
	Near:     nearQueues,
}

const byQueue = "jobs:by_queue:"

// planQueue reads where jobs wait before it reads how many are live, and what is running is the difference: a job on its
// way from one to the other is still among the live ones.
func planQueue(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
	paused := r.SIsMember(ask.Prefix+"queues:paused", ask.Queue)
	r.Then(func() error {
		q.Paused = paused.Int() > 0
		return nil
	})
	w := &waiting{r: r, ask: ask, q: q, key: ask.Prefix + "queue:" + ask.Queue + ":pending"}
	w.plan()
	live := r.SCard(ask.Prefix + byQueue + ask.Queue)
	done := r.Lenient().Exists(ask.Prefix + "archived:by_queue:" + ask.Queue)
	r.Then(func() error {
		q.Running = max(0, live.Int()-w.total.Int())
		q.Known = live.Int()+w.total.Int()+done.Int() > 0 || q.Paused
		planPool(r, ask, q)
		if !q.Known {
			planNamespace(r, ask)
		}
		return nil
	})
}

// planPool reads the queue's workers where they are asked for, or where it depends on them whether jobs are running:
// those of workers that died are not, and only a live worker of the queue puts them right.
func planPool(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
	if ask.Activity && q.Running == 0 {
		return
	}
	workers := r.Lenient()
	if q.Running > 0 {
		workers = r.Unwatched()
	}
	planWorkers(workers, ask, func(pool driver.Pool, all bool) {
		if pool.Workers == 0 && all {
			q.Running = 0
		}
		if !ask.Activity {
			q.Pool = &pool
		}
	})
}

// planNamespace fails for a name with a namespace that has jobs: it is counted in a database, and would be an empty queue
// here for ever.
func planNamespace(r *driver.RedisReads, ask *driver.RedisAsk) {
	namespace, queue, ok := strings.Cut(ask.Queue, "/")
	if !ok {
		return
	}
	jobs := r.Exists(fmt.Sprintf("%sjobs:by_ns:%d:%s", ask.Prefix, len(namespace), namespace))
	r.Then(func() error {
		if jobs.Int() == 0 {
			return nil
		}
		return driver.Errorf(driver.Schema,
			"in Redis FlexiQ keeps the jobs of all namespaces of a queue together; name the trigger's queue %q in place of %q",
			queue, ask.Queue)
	})
}

// announced is where FlexiQ tells its workers of new jobs of the default namespace. A pattern for all namespaces would
// take a rule of its own for each queue in Redis' access control.
func announced(o *driver.RedisOptions, queue string) []driver.RedisEvent {
	return []driver.RedisEvent{{Channel: o.Prefix + "notify:-:" + queue}}
}

func nearQueues(o *driver.RedisOptions) (match string, name func(key string) (queue string, ok bool)) {
	return glob.Replace(o.Prefix+byQueue) + "*", func(key string) (string, bool) {
		return strings.CutPrefix(key, o.Prefix+byQueue)
	}
}

// glob writes a text so that it stands for itself in a pattern.
var glob = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `\`, `\\`)
