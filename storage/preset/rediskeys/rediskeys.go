// Package rediskeys is the preset redis, for job libraries in Redis that have no preset of their own: the source says
// which keys a queue has, and what their elements count as. README.md says how.
package rediskeys

import (
	"slices"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

// placeholder stands for the queue's name in a key. The key is made by putting the name in, whatever it holds.
const placeholder = "{queue}"

// What a key may say of itself.
const (
	typeList   = "list"
	typeZset   = "zset"
	typeSet    = "set"
	typeHash   = "hash"
	typeStream = "stream"

	stateReady     = "ready"
	stateRunning   = "running"
	stateScheduled = "scheduled"
)

// states are in the order in which a job goes through them, and are read in it.
var states = []string{stateScheduled, stateReady, stateRunning}

// Preset is a layout of the source's own.
var Preset = driver.Preset{
	Name: "redis",
	Redis: &driver.Redis{
		Options: driver.RedisKeys | driver.RedisQueues,
		Queue:   planQueue,
		Check:   check,
		Near:    near,
	},
}

func nameOf(template, queue string) string { return strings.ReplaceAll(template, placeholder, queue) }

func planQueue(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
	var all []counter
	for _, state := range states {
		for i, key := range ask.Keys {
			if key.State == state {
				all = append(all, newCounter(r, ask, i))
			}
		}
	}
	r.Then(func() error {
		for _, c := range all {
			if err := c.fill(q); err != nil {
				return err
			}
		}
		if !ask.Activity && q.Ready > 0 {
			for _, c := range all {
				c.oldest(r.Lenient(), q)
			}
		}
		return nil
	})
}

// near finds queues by the key where new jobs are. Where that is the bare name any key of the database would do, and
// those are not for all to see.
func near(o *driver.RedisOptions) (match string, name func(key string) (queue string, ok bool)) {
	i := slices.IndexFunc(o.Keys, func(k driver.RedisKey) bool { return k.State == stateReady })
	template := o.Keys[max(i, 0)].Key
	literal := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(template)
	before, _, _ := strings.Cut(template, placeholder)
	places := strings.Count(template, placeholder)
	return strings.ReplaceAll(literal, placeholder, "*"), func(key string) (string, bool) {
		length := (len(key) - len(template) + places*len(placeholder)) / places
		if length <= 0 || len(before)+length > len(key) {
			return "", false
		}
		queue := key[len(before) : len(before)+length]
		return queue, nameOf(template, queue) == key && template != placeholder
	}
}
