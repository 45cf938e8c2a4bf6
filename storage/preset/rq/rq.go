// Package rq is the preset for RQ (https://python-rq.org), a job queue for Python on Redis. README.md says what is read
// and what counts.
package rq

import (
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
)

// The keys of all queues together, after the prefix.
const (
	queuesKey    = "queues"    // set of the keys of the lists of queues that ever had a job
	suspendedKey = "suspended" // exists while no worker takes jobs
	jobKey       = "job:"      // and an id: hash of a job
)

// The keys of one queue, after the prefix and before its name. Scores are seconds.
const (
	listKey      = "queue:"     // list of ids, the oldest first
	scheduledKey = "scheduled:" // sorted set of ids, by when they are due: those put off and those tried again
	startedKey   = "wip:"       // sorted set of ids, or of ids and executions, by when the worker's word for them ends
	workersKey   = "workers:"   // set of the keys of the workers that serve the queue

	intermediate = ":intermediate" // and the list's key before it: list of ids that a worker takes in hand
)

// Preset is RQ from 1.0 on.
var Preset = driver.Preset{
	Name: "rq",
	Redis: &driver.Redis{
		Options:  driver.RedisPrefix,
		Defaults: driver.RedisOptions{Prefix: "rq:"},
		Queue:    planQueue,
		List:     listQueues,
	},
}

func listQueues(r *driver.RedisReads, o *driver.RedisOptions, found func(queue string)) {
	r.Names(o.Prefix+queuesKey, func(key string) {
		if queue, ok := strings.CutPrefix(key, o.Prefix+listKey); ok {
			found(queue)
		}
	})
}

func keyOf(ask *driver.RedisAsk, key string) string { return ask.Prefix + key + ask.Queue }

// counts are the replies that count jobs.
type counts struct {
	due, later, next *driver.RedisReply // scheduled ones
	waiting, taken   *driver.RedisReply
	running, left    *driver.RedisReply // started ones, and those whose worker has gone silent
	suspended        *driver.RedisReply
}

// planQueue reads a queue in the order in which a job goes through it.
func planQueue(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
	list, scheduled, started := keyOf(ask, listKey), keyOf(ask, scheduledKey), keyOf(ask, startedKey)
	due, now := epoch.Seconds(ask.Due()), epoch.Seconds(ask.Now)
	c := &counts{
		due:       r.ZCount(scheduled, "-inf", due),
		later:     r.ZCount(scheduled, "("+due, "+inf"),
		next:      r.ZRangeByScore(scheduled, "("+due, "+inf", 1),
		waiting:   r.LLen(list),
		taken:     r.LLen(list + intermediate),
		running:   r.ZCount(started, "("+now, "+inf"),
		left:      r.ZCount(started, "-inf", now),
		suspended: r.Exists(ask.Prefix + suspendedKey),
	}
	var listed *driver.RedisReply
	if !ask.Activity {
		listed = r.Lenient().SIsMember(ask.Prefix+queuesKey, list)
		planPool(r.Lenient(), keyOf(ask, workersKey), q)
	}
	r.Then(func() error {
		c.fill(ask, q)
		q.Known = q.Known || listed != nil && listed.Int() > 0
		if !ask.Activity && q.Ready > 0 {
			oldest{r.Lenient(), ask, q}.plan(c)
		}
		return nil
	})
}

// fill adds up. A job whose worker has gone silent is ready: nobody but a worker tries it again, or files it as failed.
// A suspension is of the server, and no trace of the queue.
func (c *counts) fill(ask *driver.RedisAsk, q *driver.Queue) {
	q.Ready = c.waiting.Int() + c.due.Int() + c.left.Int()
	q.Running = c.running.Int() + c.taken.Int()
	q.Scheduled = c.later.Int()
	q.Known = q.Ready+q.Running+q.Scheduled > 0
	if q.Paused = c.suspended.Int() > 0; q.Paused {
		q.Ready = 0
	}
	for _, first := range c.next.Scores() {
		if at, ok := epoch.Time(first.Score, time.Second); ok {
			q.NextDue = at.Sub(ask.Now)
		}
	}
}

// An oldest finds out when the oldest of the ready jobs of a queue became so.
type oldest struct {
	r   *driver.RedisReads // lenient
	ask *driver.RedisAsk
	q   *driver.Queue
}

// plan looks at the first job of each place where ready ones are.
func (o oldest) plan(c *counts) {
	if c.due.Int() > 0 {
		o.planHead(scheduledKey, o.ask.Due())
	}
	if c.left.Int() > 0 {
		o.planHead(startedKey, o.ask.Now)
	}
	if c.waiting.Int() > 0 {
		o.planWaiting()
	}
}

// planHead reads the lowest score of a sorted set, which is a time.
func (o oldest) planHead(key string, upTo time.Time) {
	head := o.r.ZRangeByScore(keyOf(o.ask, key), "-inf", epoch.Seconds(upTo), 1)
	o.r.Then(func() error {
		for _, first := range head.Scores() {
			if at, ok := epoch.Time(first.Score, time.Second); ok {
				o.since(at)
			}
		}
		return nil
	})
}

// planWaiting reads when the first job of the list was put there.
func (o oldest) planWaiting() {
	first := o.r.LIndex(keyOf(o.ask, listKey), 0)
	o.r.Then(func() error {
		id, ok := first.Text()
		if !ok {
			return nil
		}
		enqueued := o.r.HGet(o.ask.Prefix+jobKey+id, "enqueued_at")
		o.r.Then(func() error {
			text, _ := enqueued.Text()
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				o.since(at)
			}
			return nil
		})
		return nil
	})
}

func (o oldest) since(at time.Time) { o.q.Oldest = max(o.q.Oldest, o.ask.Now.Sub(at)) }
