// Package bullmq is the preset for BullMQ (https://bullmq.io), a job queue for Node.js and others on Redis. README.md says
// what is read and what counts.
package bullmq

import (
	"fmt"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/bulljobs"
)

// The keys of a queue, behind the prefix, the queue's name and colons.
const (
	metaKey        = "meta"        // hash of the queue's settings
	delayedKey     = "delayed"     // sorted set of ids, by when they are due; see package bulljobs
	waitKey        = "wait"        // list of ids, the next one last; before 4, those with a priority too
	prioritizedKey = "prioritized" // sorted set of ids, by priority and turn; since 4
	activeKey      = "active"      // list of ids in the hands of workers
	eventsKey      = "events"      // stream of what happens
)

// The fields of meta.
const (
	pausedField      = "paused"            // there or not
	concurrencyField = "concurrency"       // how many jobs may be active at once, of all workers; since 5
	versionField     = "version"           // "bullmq:6.7.0": the release that opened the queue last; Node.js only
	eventsField      = "opts.maxLenEvents" // there in any queue that was used, but before 4 in case of Node.js only
)

// Preset is BullMQ 3 to 6.
var Preset = driver.Preset{
	Name: "bullmq",
	Redis: &driver.Redis{
		Options:  driver.RedisPrefix | driver.RedisQueues,
		Defaults: driver.RedisOptions{Prefix: "bull"},
		Queue:    planQueue,
		Events: func(o *driver.RedisOptions, queue string) []driver.RedisEvent {
			return []driver.RedisEvent{{Stream: base(o, queue) + eventsKey}}
		},
		Near: func(o *driver.RedisOptions) (string, func(string) (string, bool)) {
			return bulljobs.Near(o.Prefix, "mw", metaKey, waitKey)
		},
	},
}

// base is what the keys of a queue begin with, and those of its jobs.
func base(o *driver.RedisOptions, queue string) string { return o.Prefix + ":" + queue + ":" }

// counts are the replies that count jobs.
type counts struct {
	meta                            *driver.RedisReply
	delayed                         bulljobs.Delayed
	wait, next, prioritized, active *driver.RedisReply
}

// planQueue reads a queue in the order in which a job goes through it.
func planQueue(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
	base := base(&ask.RedisOptions, ask.Queue)
	c := counts{
		meta:        r.HMGet(base+metaKey, pausedField, concurrencyField, versionField, eventsField),
		delayed:     bulljobs.ReadDelayed(r, ask, base+delayedKey),
		wait:        r.LLen(base + waitKey),
		next:        r.LRange(base+waitKey, -2, -1),
		prioritized: r.ZCard(base + prioritizedKey),
		active:      r.LLen(base + activeKey),
	}
	r.Then(func() error {
		meta, err := readMeta(base+metaKey, c.meta.Texts())
		if err != nil {
			return err
		}
		if meta.pro {
			r.Note(fmt.Sprintf("queue %q is one of BullMQ Pro's: jobs in groups do not count", ask.Queue))
		}
		c.fill(meta, q)
		if !ask.Activity && q.Ready > 0 {
			planAges(bulljobs.NewAges(r, ask, base, q), base, &c)
		}
		return nil
	})
}

// fill adds up. What waits for its children is not looked at: it is none of the workers' business before they are done.
func (c *counts) fill(m meta, q *driver.Queue) {
	q.Ready = c.delayed.Due() + c.waiting() + c.prioritized.Int()
	q.Running = c.active.Int()
	c.delayed.Fill(q)
	q.Known = m.known || q.Ready+q.Running+q.Scheduled > 0 || q.NextDue > 0
	q.Paused = m.paused
	if m.limited {
		q.Ready = min(q.Ready, max(0, m.concurrency-q.Running))
	}
	if m.paused {
		q.Ready = 0
	}
}

// waiting counts the jobs of the list, without the marker that versions 3 and 4 put there for their workers: "0:" and a
// time. Where it lies deeper there are jobs to be taken before it, and one too many is counted.
func (c *counts) waiting() int64 {
	n := c.wait.Int()
	for _, id := range c.next.Texts() {
		if strings.HasPrefix(id, "0:") {
			n--
		}
	}
	return max(0, n)
}
