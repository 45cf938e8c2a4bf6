// Package asynq is the preset for Asynq (https://github.com/hibiken/asynq), a task queue for Go on Redis. README.md says
// what is read and what counts.
package asynq

import (
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
)

// The keys of all queues together. A queue's own begin with its name in braces; see queueKey.
const (
	queuesKey  = "asynq:queues"  // set of the names of queues that ever had a task
	serversKey = "asynq:servers" // sorted set of the keys of servers, by when their registration ends (s)
)

// The keys of one queue. Scores are seconds.
const (
	pendingKey   = "pending"          // list of ids, the oldest last
	activeKey    = "active"           // list of ids
	leaseKey     = "lease"            // sorted set of the ids in active, by when the lease ends
	scheduledKey = "scheduled"        // sorted set of ids, by when they are due
	retryKey     = "retry"            // sorted set of ids, by when they are due
	groupsKey    = "groups"           // set of the names of groups that hold tasks to be made one
	batchesKey   = "aggregation_sets" // sorted set of batches of a group in a server's hand, by its deadline
	pausedKey    = "paused"           // exists or not
	taskKey      = "t:"               // and an id: hash of a task
)

// recoverAfter is how long after the end of a lease Asynq's servers take the task for left behind.
const recoverAfter = 30 * time.Second

// Preset is Asynq since its 0.23, which gave tasks leases.
var Preset = driver.Preset{
	Name:  "asynq",
	Redis: &driver.Redis{Queue: planQueue, List: listQueues},
}

func queueKey(queue, name string) string { return "asynq:{" + queue + "}:" + name }

func listQueues(r *driver.RedisReads, _ *driver.RedisOptions, found func(queue string)) {
	r.Names(queuesKey, found)
}

// counts are the replies that count tasks.
type counts struct {
	scheduled, retry delayed

	pending, active, groups, paused *driver.RedisReply

	expired          *driver.RedisReply // leases whose tasks wait to be recovered
	batches, dropped *driver.RedisReply // batches in a server's hand, and those past its deadline
}

// delayed is what is read of a sorted set of tasks for later.
type delayed struct {
	due   *driver.RedisReply
	next  *driver.RedisReply // the first of the later ones
	later *driver.RedisReply // nil where activity is all that is asked for
}

func planDelayed(r *driver.RedisReads, ask *driver.RedisAsk, key string) delayed {
	due := epoch.Seconds(ask.Due())
	d := delayed{due: r.ZCount(key, "-inf", due), next: r.ZRangeByScore(key, "("+due, "+inf", 1)}
	if !ask.Activity {
		d.later = r.ZCount(key, "("+due, "+inf")
	}
	return d
}

// fill adds the later ones.
func (d delayed) fill(ask *driver.RedisAsk, q *driver.Queue) {
	for _, first := range d.next.Scores() {
		q.Known = true
		if at, ok := epoch.Time(first.Score, time.Second); ok && (q.NextDue == 0 || at.Sub(ask.Now) < q.NextDue) {
			q.NextDue = at.Sub(ask.Now)
		}
	}
	if d.later != nil {
		q.Scheduled += d.later.Int()
	}
}

// planQueue reads a queue in the order in which a task goes through it.
func planQueue(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
	key := func(name string) string { return queueKey(ask.Queue, name) }
	now, stale := epoch.Seconds(ask.Now), epoch.Seconds(ask.Now.Add(-recoverAfter))
	c := &counts{
		scheduled: planDelayed(r, ask, key(scheduledKey)),
		retry:     planDelayed(r, ask, key(retryKey)),
		groups:    r.SCard(key(groupsKey)),
		dropped:   r.ZCount(key(batchesKey), "-inf", now),
		batches:   r.ZCount(key(batchesKey), "("+now, "+inf"),
		pending:   r.LLen(key(pendingKey)),
		active:    r.LLen(key(activeKey)),
		expired:   r.ZCount(key(leaseKey), "-inf", stale),
		paused:    r.Exists(key(pausedKey)),
	}
	listed := r.Lenient().SIsMember(queuesKey, ask.Queue)
	if !ask.Activity {
		planPool(r.Lenient(), ask, q)
	}
	r.Then(func() error {
		q.Known = listed.Int() > 0
		c.fill(ask, q)
		if !ask.Activity && q.Ready > 0 {
			oldest{r.Lenient(), ask, q}.plan(c)
		}
		return nil
	})
}

// fill adds up. A group counts as one task, which is what its tasks will be made, and a batch in a server's hand as
// running. What a server has left behind is ready: nobody but a server takes it up again.
func (c *counts) fill(ask *driver.RedisAsk, q *driver.Queue) {
	left := min(c.expired.Int(), c.active.Int())
	q.Ready = c.pending.Int() + c.scheduled.due.Int() + c.retry.due.Int() + c.groups.Int() + c.dropped.Int() + left
	q.Running = c.active.Int() - left + c.batches.Int()
	q.Paused = c.paused.Int() > 0
	q.Known = q.Known || q.Ready+q.Running > 0 || q.Paused
	if q.Paused {
		q.Ready = 0
	}
	c.scheduled.fill(ask, q)
	c.retry.fill(ask, q)
}
