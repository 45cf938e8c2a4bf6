// Package celery is the preset for Celery (https://docs.celeryq.dev), a task queue for Python, with Redis as its broker.
// The layout is that of Kombu, Celery's messaging library. README.md says what is read and what counts.
package celery

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

// The keys that all queues of a database share; each begins with the prefix. A queue's own are its lists; see listKey.
const (
	unackedKey = "unacked"         // hash of what workers hold, of all queues: by delivery tag; see entry
	bindingKey = "_kombu.binding." // and an exchange: set of the queues that get its messages; see binding
)

// Preset is Celery on Kombu 4 and 5.
var Preset = driver.Preset{
	Name: "celery",
	Redis: &driver.Redis{
		Options:  driver.RedisPrefix | driver.RedisQueues | driver.RedisPriorities,
		Defaults: driver.RedisOptions{PrioritySteps: []int{0, 3, 6, 9}, Separator: "\x06\x16"},
		Queue:    planQueue,
		Check:    check,
		Near:     near,
	},
}

// listKey is the list of one queue's tasks of one priority; workers take from its right.
func listKey(ask *driver.RedisAsk, step int) string {
	if step == 0 {
		return ask.Prefix + ask.Queue
	}
	return ask.Prefix + ask.Queue + ask.Separator + strconv.Itoa(step)
}

// planQueue reads a queue's lists, and after them what workers have taken from lists.
func planQueue(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
	lists := make([]*driver.RedisReply, 0, len(ask.PrioritySteps))
	for _, step := range ask.PrioritySteps {
		lists = append(lists, r.LLen(listKey(ask, step)))
	}
	held := r.Unwatched().HLen(ask.Prefix + unackedKey) // any queue's worker writes it with each task
	var bound *driver.RedisReply
	if !ask.Activity {
		bound = r.Lenient().Exists(ask.Prefix + bindingKey + ask.Queue) // the exchange that Celery makes with a queue
	}
	r.Then(func() error {
		for _, list := range lists {
			q.Ready += list.Int()
		}
		q.Known = q.Ready > 0 || bound != nil && bound.Int() > 0
		switch {
		case held.Int() == 0:
		case slices.Equal(ask.Queues, []string{ask.Queue}): // there is no other queue that they could be of
			q.Running, q.Known = held.Int(), true
		default:
			share := &share{r: r.Lenient(), ask: ask, q: q, held: held.Int()}
			share.look("0", firstLook, tally{tasks: map[address]int64{}})
		}
		return nil
	})
}

// check refuses steps by which Kombu would file no task, or a task elsewhere.
func check(o *driver.RedisOptions) error {
	if o.PrioritySteps != nil && len(o.PrioritySteps) == 0 {
		return errors.New("prioritySteps: is empty; write those of broker_transport_options, or remove the key for 0, 3, 6, 9")
	}
	for i, step := range o.PrioritySteps {
		if step < 0 || step > 255 {
			return fmt.Errorf("prioritySteps: %d is no priority; write numbers from 0 to 255", step)
		}
		if i > 0 && step <= o.PrioritySteps[i-1] {
			return fmt.Errorf("prioritySteps: %d comes after %d; write each step once, the lowest first", step, o.PrioritySteps[i-1])
		}
	}
	return nil
}

// near finds queues by the exchanges that Celery makes with them, which stay when the lists are empty.
func near(o *driver.RedisOptions) (match string, name func(key string) (queue string, ok bool)) {
	begin := o.Prefix + bindingKey
	literal := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(begin)
	return literal + "*", func(key string) (string, bool) {
		queue, ok := strings.CutPrefix(key, begin)
		own := queue == "celeryev" || strings.HasSuffix(queue, "celery.pidbox") // events and remote control
		return queue, ok && !own
	}
}
