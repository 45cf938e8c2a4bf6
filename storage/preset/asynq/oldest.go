package asynq

import (
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
)

// An oldest finds out when the oldest of the ready tasks of a queue became so.
type oldest struct {
	r   *driver.RedisReads // lenient
	ask *driver.RedisAsk
	q   *driver.Queue
}

// plan looks at the first task of each place where ready ones are. Of the tasks of groups it is not known, nor of those
// that a server gave back when it shut down.
func (o oldest) plan(c *counts) {
	if c.scheduled.due.Int() > 0 {
		o.planHead(scheduledKey, o.ask.Due(), 0)
	}
	if c.retry.due.Int() > 0 {
		o.planHead(retryKey, o.ask.Due(), 0)
	}
	if c.expired.Int() > 0 {
		o.planHead(leaseKey, o.ask.Now.Add(-recoverAfter), recoverAfter)
	}
	if c.pending.Int() > 0 {
		o.planPending()
	}
}

// planHead reads the lowest score of a sorted set, which is a time; the task became ready a while after it.
func (o oldest) planHead(name string, upTo time.Time, after time.Duration) {
	head := o.r.ZRangeByScore(queueKey(o.ask.Queue, name), "-inf", epoch.Seconds(upTo), 1)
	o.r.Then(func() error {
		for _, first := range head.Scores() {
			if at, ok := epoch.Time(first.Score, time.Second); ok {
				o.since(at.Add(after))
			}
		}
		return nil
	})
}

// planPending reads when the last task of the list was put there.
func (o oldest) planPending() {
	last := o.r.LIndex(queueKey(o.ask.Queue, pendingKey), -1)
	o.r.Then(func() error {
		id, ok := last.Text()
		if !ok {
			return nil
		}
		pending := o.r.HGet(queueKey(o.ask.Queue, taskKey+id), "pending_since")
		o.r.Then(func() error {
			text, _ := pending.Text()
			if at, ok := epoch.Parse(text); ok {
				o.since(at)
			}
			return nil
		})
		return nil
	})
}

func (o oldest) since(at time.Time) { o.q.Oldest = max(o.q.Oldest, o.ask.Now.Sub(at)) }
