package resque

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
	"github.com/leadsman/leadsman/storage/internal/jsonfield"
)

const (
	maxWorkers = 1000            // how many workers are looked at
	beatAge    = 5 * time.Minute // after which Resque's workers take another one for dead; they beat each minute
)

// A worker is one that is registered.
type worker struct {
	id   string
	job  *driver.RedisReply
	beat time.Time // zero when it does not tell
}

// lookedAt returns the ids of the workers that are looked at, which are the same each time.
func lookedAt(ids *driver.RedisReply) []string {
	sorted := slices.Sorted(slices.Values(ids.Texts()))
	return sorted[:min(len(sorted), maxWorkers)]
}

// planWorkers finds out which workers run a job of the queue, and which serve it. Any may run one: the queues in a
// worker's id may be patterns, and node-resque's change while it works.
func (v view) planWorkers(registered *driver.RedisReply) {
	ids := driver.Derived(registered, lookedAt)
	if len(ids) < len(registered.Texts()) {
		v.q.Saturated = true
	}
	if !v.ask.Activity {
		v.q.Pool = &driver.Pool{}
	}
	if len(ids) == 0 {
		return
	}
	workers := make([]worker, len(ids))
	for i, id := range ids {
		workers[i] = worker{id: id, job: v.r.Get(v.key(workerKey + id))}
	}
	beats := v.r.HMGet(v.key(heartbeatKey), ids...)
	v.r.Then(func() error {
		for i, text := range beats.Texts() {
			workers[i].beat = parseTime(text)
			v.planPing(workers[i])
		}
		return nil
	})
}

// planPing counts a worker, and looks for its beat in node-resque's way first where it has none in Resque's.
func (v view) planPing(w worker) {
	job := driver.Derived(w.job, parseJob)
	runs, serves := job.queue == v.ask.Queue, v.q.Pool != nil && serves(w.id, v.ask.Queue)
	if !runs && !serves {
		return
	}
	if !w.beat.IsZero() {
		v.add(w, job, runs, serves)
		return
	}
	name := w.id[:max(strings.LastIndexByte(w.id, ':'), 0)]
	ping := v.r.Get(v.key(pingKey + name))
	v.r.Then(func() error {
		text, _ := ping.Text()
		beat, _ := jsonfield.Read(text, "time")
		w.beat, _ = epoch.Parse(beat[0])
		v.add(w, job, runs, serves)
		return nil
	})
}

// add counts a worker that beats. Of those that do not, older ones than Resque 1.27 and other clients, it is not known
// whether they are alive: what they run counts until it is too old.
func (v view) add(w worker, job job, runs, serves bool) {
	beats := !w.beat.IsZero()
	if beats && v.ask.Now.Sub(w.beat) > beatAge {
		return
	}
	if serves {
		v.q.Pool.Workers++
		v.q.Pool.Capacity++
	}
	maxAge := v.ask.RunningMaxAge
	if maxAge == 0 {
		maxAge = runningMaxAge
	}
	if runs && (beats || job.since.IsZero() || v.ask.Now.Sub(job.since) <= maxAge) {
		v.q.Running++
		v.q.Known = true
	}
}

// A job is what a worker says that it runs.
type job struct {
	queue string // "" for none
	since time.Time
}

func parseJob(reply *driver.RedisReply) job {
	text, _ := reply.Text()
	fields, ok := jsonfield.Read(text, "queue", "run_at")
	if !ok {
		return job{}
	}
	return job{fields[0], parseTime(fields[1])}
}

// timeForms are Resque's since 1.21, Resque's before, and node-resque's, which is JavaScript's.
var timeForms = []string{time.RFC3339, "2006/01/02 15:04:05 MST", "Mon Jan 02 2006 15:04:05 GMT-0700"}

// parseTime reads a time in any of the forms; the zero time when it is in none.
func parseTime(text string) time.Time {
	text, _, _ = strings.Cut(text, " (") // JavaScript's name of the zone
	for _, form := range timeForms {
		if at, err := time.Parse(form, text); err == nil {
			return at
		}
	}
	return time.Time{}
}

// serves says whether a worker takes jobs of a queue. Its id is host:pid:queues, and its queues are names and patterns,
// or with ! what it does not take.
func serves(id, queue string) bool {
	parts := strings.SplitN(id, ":", 3)
	taken := false
	for pattern := range strings.SplitSeq(parts[len(parts)-1], ",") {
		switch except, not := strings.CutPrefix(pattern, "!"); {
		case not && matches(except, queue):
			return false
		case !not && matches(pattern, queue):
			taken = true
		}
	}
	return taken
}

// matches is Ruby's File.fnmatch, for which a slash is like any other character.
func matches(pattern, queue string) bool {
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(queue, "/", "\x00"))
	return pattern == queue || ok && err == nil
}
