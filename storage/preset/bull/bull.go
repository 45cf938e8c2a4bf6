// Package bull is the preset for Bull (https://github.com/OptimalBits/bull), the job queue for Node.js on Redis that came
// before BullMQ. README.md says what is read and what counts.
package bull

import (
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/bulljobs"
)

// The keys of a queue, behind the prefix, the queue's name and colons.
const (
	idKey      = "id"          // counter of jobs: there from the first one on
	pausedKey  = "meta-paused" // there or not
	delayedKey = "delayed"     // sorted set of ids, by when they are due; see package bulljobs
	waitKey    = "wait"        // list of ids, those with a priority too, the next one last
	activeKey  = "active"      // list of ids in the hands of workers
	metaKey    = "meta"        // hash of BullMQ's settings, where the queue is one of BullMQ's

	versionField = "version" // of meta: "bullmq:6.7.0"
)

// Preset is Bull 3 and 4.
var Preset = driver.Preset{
	Name: "bull",
	Redis: &driver.Redis{
		Options:  driver.RedisPrefix | driver.RedisQueues,
		Defaults: driver.RedisOptions{Prefix: "bull"},
		Queue:    planQueue,
		Events:   events,
		Near: func(o *driver.RedisOptions) (string, func(string) (string, bool)) {
			return bulljobs.Near(o.Prefix, "iw", idKey, waitKey)
		},
	},
}

// base is what the keys of a queue begin with, and those of its jobs.
func base(o *driver.RedisOptions, queue string) string { return o.Prefix + ":" + queue + ":" }

// events are the channels on which Bull tells of jobs that wait, behind which it writes the name of whoever added them, and
// of those that wait for their time.
func events(o *driver.RedisOptions, queue string) []driver.RedisEvent {
	return []driver.RedisEvent{
		{Pattern: bulljobs.Glob(base(o, queue)) + "waiting@*"},
		{Channel: base(o, queue) + delayedKey},
	}
}

// planQueue reads a queue in the order in which a job goes through it.
func planQueue(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
	base := base(&ask.RedisOptions, ask.Queue)
	version := r.HGet(base+metaKey, versionField)
	paused, id := r.Exists(base+pausedKey), r.Exists(base+idKey)
	delayed := bulljobs.ReadDelayed(r, ask, base+delayedKey)
	wait, active := r.LLen(base+waitKey), r.LLen(base+activeKey)
	r.Then(func() error {
		if err := checkVersion(version); err != nil {
			return err
		}
		q.Ready, q.Running = delayed.Due()+wait.Int(), active.Int()
		delayed.Fill(q)
		q.Paused = paused.Int() > 0
		q.Known = id.Int() > 0 || q.Paused || q.Ready+q.Running+q.Scheduled > 0 || q.NextDue > 0
		if q.Paused {
			q.Ready = 0
		}
		if !ask.Activity && q.Ready > 0 {
			ages := bulljobs.NewAges(r, ask, base, q)
			ages.Delayed(base + delayedKey)
			ages.List(base + waitKey)
		}
		return nil
	})
}

// checkVersion refuses a queue of BullMQ, which has places for jobs that this preset does not look into.
func checkVersion(version *driver.RedisReply) error {
	if found, _ := version.Text(); strings.HasPrefix(found, "bullmq") {
		return driver.Errorf(driver.Schema, "the queue is one of BullMQ's: the field %s of key %q says %q; use the preset bullmq",
			versionField, version.Key, found)
	}
	return nil
}
