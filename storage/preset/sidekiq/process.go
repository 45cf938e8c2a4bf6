package sidekiq

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
	"github.com/leadsman/leadsman/storage/internal/jsonfield"
)

const (
	maxProcesses = 1000    // how many processes are looked at
	maxThreads   = 1 << 31 // of one, and jobs that it runs: sums of what anybody may have written stay numbers
	beatAge      = time.Minute
)

// The fields of a process' hash.
var processFields = []string{"info", "concurrency", "busy", "beat", "quiet"}

// A process is what one says of itself with each beat.
type process struct {
	known   bool // what it says can be read
	beat    time.Time
	quiet   bool  // it takes no new jobs
	busy    int64 // how many it runs; -1 when it does not say
	old     bool  // it may be of before Sidekiq 6.5
	queues  []string
	threads map[string]int64 // by queue
}

// parseProcess reads a process' hash; nil when it has none, because it has not beaten for a minute.
func parseProcess(reply *driver.RedisReply) *process {
	fields := reply.Texts()
	if len(fields) != len(processFields) || fields[0] == "" {
		return nil
	}
	p := &process{quiet: fields[4] == "true", threads: map[string]int64{}}
	p.beat, _ = epoch.Parse(fields[3])
	var err error
	if p.busy, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
		p.busy = -1
	}
	p.busy = min(p.busy, maxThreads)
	var info info
	if json.Unmarshal([]byte(fields[0]), &info) != nil {
		return p
	}
	p.known, p.old = true, info.Version == ""
	if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
		info.Concurrency = n
	}
	p.queues, p.threads = info.serves()
	return p
}

// info is the field of that name. Since 8.0.9 it has capsules, which are pools of threads with queues of their own.
type info struct {
	Version     string   `json:"version"` // since 7
	Queues      []string `json:"queues"`
	Concurrency int64    `json:"concurrency"` // of all capsules
	Capsules    map[string]struct {
		Concurrency int64                      `json:"concurrency"`
		Weights     map[string]json.RawMessage `json:"weights"` // by queue
	} `json:"capsules"`
}

// serves returns the queues and how many jobs of each can run at once. Sidekiq has capsules since 7 and did not say at
// first how large each is: then it is as many as all of them can run.
func (i info) serves() (queues []string, threads map[string]int64) {
	threads = map[string]int64{}
	for _, capsule := range i.Capsules {
		for queue := range capsule.Weights {
			threads[queue] = min(threads[queue]+bounded(capsule.Concurrency), maxThreads)
			queues = append(queues, queue)
		}
	}
	if len(queues) == 0 {
		for _, queue := range i.Queues {
			threads[queue] = bounded(i.Concurrency)
		}
		queues = slices.Clone(i.Queues)
	}
	slices.Sort(queues)
	return slices.Compact(queues), threads
}

func bounded(threads int64) int64 { return min(max(threads, 0), maxThreads) }

// serves says whether the process takes jobs of a queue, or might.
func (p *process) serves(queue string) bool { return !p.known || slices.Contains(p.queues, queue) }

// dead says that a process has not beaten for a minute. Redis forgets it then, unless it was restored from a backup.
// A beat that is no time says nothing.
func (p *process) dead(now time.Time) bool { return !p.beat.IsZero() && now.Sub(p.beat) > beatAge }

// planProcesses finds out which processes serve the queue, and how many of its jobs they run.
func (v view) planProcesses(identities *driver.RedisReply) {
	ids := driver.Derived(identities, lookedAt)
	if len(ids) < len(identities.Texts()) {
		v.q.Saturated = true
	}
	replies := make([]*driver.RedisReply, len(ids))
	for i, id := range ids {
		replies[i] = v.r.HMGet(v.key(id), processFields...)
	}
	v.r.Then(func() error {
		if !v.ask.Activity {
			v.q.Pool = &driver.Pool{}
		}
		for i, id := range ids {
			p := driver.Derived(replies[i], parseProcess)
			if p != nil && !p.dead(v.ask.Now) && p.serves(v.ask.Queue) {
				v.q.Known = v.q.Known || p.known
				v.planWork(id, p)
			}
		}
		return nil
	})
}

// lookedAt returns the identities of the processes that are looked at, which are the same each time.
func lookedAt(identities *driver.RedisReply) []string {
	ids := slices.Sorted(slices.Values(identities.Texts()))
	return ids[:min(len(ids), maxProcesses)]
}

// planWork finds out how many jobs of the queue a process runs: all those that it is busy with where it serves no other
// queue, else those that it says are of this one. What super_fetch took is in a list of the process' own, at once.
func (v view) planWork(id string, p *process) {
	held := v.r.LLen(v.key(privateKey + id + "|" + v.ask.Queue))
	if p.busy == 0 || p.busy > 0 && p.known && len(p.queues) == 1 {
		v.r.Then(func() error {
			v.addRunning(p, max(p.busy, held.Int()))
			return nil
		})
		return
	}
	work := []*driver.RedisReply{v.r.HGetAll(v.key(id + workKey))}
	if p.old || !p.known {
		work = append(work, v.r.HGetAll(v.key(id+oldWorkKey)))
	}
	v.r.Then(func() error {
		var running int64
		for _, reply := range work {
			running += driver.Derived(reply, byQueue)[v.ask.Queue]
		}
		v.addRunning(p, max(running, held.Int()))
		return nil
	})
}

// addRunning counts a process and what it runs. One that is quiet is on its way out and counts as no worker, but what
// it still runs takes threads: with them it is neither spare nor missing.
func (v view) addRunning(p *process, running int64) {
	v.q.Running += running
	v.q.Known = v.q.Known || running > 0
	switch pool := v.q.Pool; {
	case pool == nil || !p.known:
	case p.quiet:
		pool.Capacity += running
	default:
		pool.Workers++
		pool.Capacity += p.threads[v.ask.Queue]
	}
}

// byQueue counts what a process runs.
func byQueue(work *driver.RedisReply) map[string]int64 {
	out := map[string]int64{}
	for _, job := range work.Pairs() {
		if fields, ok := jsonfield.Read(job, "queue"); ok {
			out[fields[0]]++
		}
	}
	return out
}

// listServed names the queues that processes wait for.
func listServed(r *driver.RedisReads, o *driver.RedisOptions, found func(queue string)) {
	identities := r.Unwatched().SMembers(o.Prefix + processesKey)
	r.Then(func() error {
		for _, id := range driver.Derived(identities, lookedAt) {
			reply := r.HMGet(o.Prefix+id, processFields...)
			r.Then(func() error {
				if p := driver.Derived(reply, parseProcess); p != nil {
					for _, queue := range p.queues {
						found(queue)
					}
				}
				return nil
			})
		}
		return nil
	})
}
