// Package resque is the preset for Resque (https://github.com/resque/resque), the job library of Ruby, with
// resque-scheduler, and for node-resque, which keeps to their keys. README.md says what is read and what counts.
//
// A job is in the list of its queue; or in the list of an instant, where it waits for its time together with the jobs
// of other queues (delayed.go); or in the hands of a worker, which is one process for one job (worker.go).
package resque

import (
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// The keys, after the prefix.
const (
	queueKey     = "queue:"                 // and a queue: list of jobs as JSON, the oldest first
	queuesKey    = "queues"                 // set of the names of queues that ever had a job
	scheduleKey  = "delayed_queue_schedule" // sorted set of instants that have delayed jobs (s); resque-scheduler
	delayedKey   = "delayed:"               // and an instant: list of jobs as JSON
	workersKey   = "workers"                // set of the ids of workers
	workerKey    = "worker:"                // and an id: what the worker does, as JSON
	heartbeatKey = "workers:heartbeat"      // hash of an id and when it last beat; Resque since 1.27
	pingKey      = "worker:ping:"           // and an id without its queues: JSON with when it last beat; node-resque
	pauseKey     = "pause-all-workers"      // "true" while no worker takes jobs
)

// runningMaxAge is for jobs of workers that do not beat.
const runningMaxAge = 24 * time.Hour

// Preset is Resque 1.20 to 3, resque-scheduler 2 to 5 and node-resque 9.
var Preset = driver.Preset{
	Name: "resque",
	Redis: &driver.Redis{
		Options:  driver.RedisPrefix,
		Defaults: driver.RedisOptions{Prefix: "resque:"},
		Queue:    planQueue,
		List:     listQueues,
		Near:     near,
	},
}

// A view is the plan of one queue.
type view struct {
	r   *driver.RedisReads
	ask *driver.RedisAsk
	q   *driver.Queue
}

func (v view) key(name string) string { return v.ask.Prefix + name }

// planQueue reads a queue in the order in which a job goes through it.
func planQueue(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
	v := view{r, ask, q}
	due, later := v.planSchedule()
	ready := r.LLen(v.key(queueKey + ask.Queue))
	paused := r.Get(v.key(pauseKey))
	workers := r.Unwatched().SMembers(v.key(workersKey))
	var listed *driver.RedisReply
	if !ask.Activity {
		listed = r.Unwatched().SIsMember(v.key(queuesKey), ask.Queue)
	}
	r.Then(func() error {
		text, _ := paused.Text()
		q.Paused = strings.EqualFold(strings.TrimSpace(text), "true")
		q.Known = ready.Int() > 0 || listed != nil && listed.Int() > 0
		if !q.Paused {
			q.Ready = ready.Int()
		}
		v.planDue(due)
		if !ask.Activity || q.Ready == 0 {
			v.planLater(later)
		}
		v.planWorkers(workers)
		return nil
	})
}

// listQueues names the queues that ever had a job, and those that have delayed jobs only.
func listQueues(r *driver.RedisReads, o *driver.RedisOptions, found func(queue string)) {
	r.Names(o.Prefix+queuesKey, found)
	all := span{o.Prefix, r.ZRangeByScore(o.Prefix+scheduleKey, "-inf", "+inf", maxInstants), maxInstants}
	r.Then(func() error {
		all.plan(r, func(_ float64, jobs map[string]int64) {
			for queue := range jobs {
				found(queue)
			}
		}, func(float64) {})
		return nil
	})
}

// near knows queues by the lists of their jobs. One of another prefix goes by its whole key.
func near(o *driver.RedisOptions) (match string, name func(key string) (string, bool)) {
	return "*" + queueKey + "*", func(key string) (string, bool) {
		return strings.TrimPrefix(key, o.Prefix+queueKey), true
	}
}
