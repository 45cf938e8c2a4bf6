// Package sidekiq is the preset for Sidekiq (https://sidekiq.org), the job library of Ruby, and for what Sidekiq Pro
// adds: paused queues and super_fetch. README.md says what is read and what counts.
//
// A job is in the list of its queue; or in one of two sorted sets that all queues share, where it waits for its time
// (delayed.go); or in the hands of a process, which says so with its heartbeat (process.go).
package sidekiq

import (
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
	"github.com/leadsman/leadsman/storage/internal/jsonfield"
)

// The keys, after the prefix.
const (
	queueKey     = "queue:"    // and a queue: list of jobs as JSON, the oldest last
	queuesKey    = "queues"    // set of the names of queues that ever had a job
	pausedKey    = "paused"    // set of the names of paused queues; Pro
	scheduleKey  = "schedule"  // sorted set of jobs as JSON, by when they are due (s)
	retryKey     = "retry"     // likewise, of failed jobs
	processesKey = "processes" // set of identities; each is also the key of a hash that is alive as long as it beats
	workKey      = ":work"     // after an identity: hash of a thread and the job that it runs, as JSON
	oldWorkKey   = ":workers"  // likewise, before Sidekiq 6.5
	privateKey   = "queue:sq|" // and an identity, | and a queue: list of what the process took from it; super_fetch
)

// Preset is Sidekiq 6 to 8.
var Preset = driver.Preset{
	Name: "sidekiq",
	Redis: &driver.Redis{
		Options: driver.RedisPrefix,
		Queue:   planQueue,
		List:    listQueues,
		Near:    near,
		Notes: []string{
			"Sidekiq tells what it runs with its heartbeat only, each 5 s in version 6 and each 10 s from 7 on: running is that old, " +
				"and a job that was just taken is in no count; give triggers `linger: 15s`",
		},
	},
}

// A view is the plan of one queue.
type view struct {
	r   *driver.RedisReads
	ask *driver.RedisAsk
	q   *driver.Queue
}

func (v view) key(name string) string { return v.ask.Prefix + name }

// replies are those of the first round.
type replies struct {
	sets                     []delayed
	ready, paused, processes *driver.RedisReply
	listed, oldest           *driver.RedisReply // nil where only activity is asked for
}

// planQueue reads a queue in the order in which a job goes through it.
func planQueue(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
	v := view{r, ask, q}
	list := v.key(queueKey + ask.Queue)
	first := replies{
		sets:      []delayed{v.planDue(scheduleKey), v.planDue(retryKey)},
		ready:     r.LLen(list),
		paused:    r.SIsMember(v.key(pausedKey), ask.Queue),
		processes: r.Unwatched().SMembers(v.key(processesKey)),
	}
	if !ask.Activity {
		first.listed = r.Unwatched().SIsMember(v.key(queuesKey), ask.Queue)
		first.oldest = r.Lenient().LIndex(list, -1)
	}
	r.Then(func() error {
		v.count(first)
		for _, set := range first.sets {
			if !ask.Activity || q.Ready == 0 {
				v.planLater(set)
			}
		}
		v.planProcesses(first.processes)
		return nil
	})
}

// count adds up what is ready.
func (v view) count(first replies) {
	v.q.Ready = first.ready.Int()
	v.q.Known = v.q.Ready > 0
	if !v.ask.Activity {
		v.q.Known = v.q.Known || first.listed.Int() > 0
		v.waited(enqueuedAt(first.oldest))
	}
	for _, set := range first.sets {
		v.addDue(set.due)
	}
	if first.paused.Int() > 0 {
		v.q.Known, v.q.Paused, v.q.Ready = true, true, 0
	}
	if v.q.Ready == 0 {
		v.q.Oldest = 0
	}
}

// enqueuedAt is when a job came into its queue: seconds before Sidekiq 8, milliseconds since. What writes jobs without
// Sidekiq may leave it out, and the time of birth is next best.
func enqueuedAt(job *driver.RedisReply) time.Time {
	text, _ := job.Text()
	times, _ := jsonfield.Read(text, "enqueued_at", "created_at")
	for _, text := range times {
		if at, ok := parseTime(text); ok {
			return at
		}
	}
	return time.Time{}
}

// parseTime reads a number since 1970 or a time of ISO 8601.
func parseTime(text string) (time.Time, bool) {
	if at, ok := epoch.Parse(text); ok {
		return at, true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}

// waited notes since when a ready job has been waiting.
func (v view) waited(since time.Time) {
	if !since.IsZero() {
		v.q.Oldest = max(v.q.Oldest, v.ask.Now.Sub(since))
	}
}

// listQueues names the queues that ever had a job, those that were paused, those that have jobs for later only, and
// those that processes wait for.
func listQueues(r *driver.RedisReads, o *driver.RedisOptions, found func(queue string)) {
	r.Names(o.Prefix+queuesKey, found)
	r.Names(o.Prefix+pausedKey, found)
	listDelayed(r, o, found)
	listServed(r, o, found)
}

// near knows queues by the lists of their jobs. One of another prefix goes by its whole key.
func near(o *driver.RedisOptions) (match string, name func(key string) (string, bool)) {
	return "*" + queueKey + "*", func(key string) (string, bool) {
		if strings.Contains(key, privateKey) {
			return "", false
		}
		return strings.TrimPrefix(key, o.Prefix+queueKey), true
	}
}
