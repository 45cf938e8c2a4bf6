package sidekiq

import (
	"math"
	"strconv"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
	"github.com/leadsman/leadsman/storage/internal/jsonfield"
)

// The jobs for later of all queues are in the same sorted sets, and which queue one is for is said by its JSON alone:
// they have to be read to be counted. So no more than these are, from the earliest on; what lies behind them is not seen.
const (
	maxDelayed = 1000 // of each set, due or not
	maxNext    = 100  // not due, where only the next one is of interest
)

// A delayed is what is read of one sorted set.
type delayed struct {
	key string
	due *driver.RedisReply
}

func (v view) planDue(name string) delayed {
	key := v.key(name)
	return delayed{key, v.r.ZRangeByScore(key, "-inf", score(v.ask.Due()), maxDelayed)}
}

// score writes a time as Sidekiq does, in seconds; Redis' clock has microseconds.
func score(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMicro())/1e6, 'f', 6, 64) }

// A share is what one queue has of jobs that were read.
type share struct {
	jobs  int64
	first float64 // the lowest score
}

// shares sorts jobs by their queues.
func shares(reply *driver.RedisReply) map[string]share {
	out := map[string]share{}
	for _, job := range reply.Scores() {
		queue, ok := queueOf(job.Element)
		if !ok {
			continue
		}
		s, seen := out[queue]
		if !seen {
			s.first = job.Score
		}
		s.jobs++
		out[queue] = s
	}
	return out
}

// queueOf is the queue that Sidekiq would put a job into; false for what is no job: Sidekiq fails to read that too, and
// drops it.
func queueOf(job string) (string, bool) {
	fields, ok := jsonfield.Read(job, "queue")
	if !ok {
		return "", false
	}
	if fields[0] == "" {
		return "default", true
	}
	return fields[0], true
}

// addDue counts the jobs that are due as ready.
func (v view) addDue(due *driver.RedisReply) {
	v.saturate(due)
	mine, ok := driver.Derived(due, shares)[v.ask.Queue]
	if !ok {
		return
	}
	v.q.Known = true
	v.q.Ready += mine.jobs
	if since, ok := epoch.Time(mine.first, time.Second); ok && !v.ask.Activity {
		v.waited(since)
	}
}

// planLater reads the jobs that are not due yet.
func (v view) planLater(set delayed) {
	n := maxDelayed
	if v.ask.Activity {
		n = maxNext
	}
	later := v.r.Unwatched().ZRangeByScore(set.key, "("+score(v.ask.Due()), "+inf", n)
	v.r.Then(func() error {
		if !v.ask.Activity {
			v.saturate(later)
		}
		if mine, ok := driver.Derived(later, shares)[v.ask.Queue]; ok {
			v.q.Known = true
			v.q.Scheduled += mine.jobs
			v.next(mine.first)
		} else if jobs := later.Scores(); len(jobs) == n {
			v.next(jobs[n-1].Score) // none of ours is due before that, and then it is time to look again
		}
		return nil
	})
}

// next notes when the next job is due.
func (v view) next(due float64) {
	at, ok := epoch.Time(due, time.Second)
	if !ok { // so far ahead that it is no date
		at = v.ask.Now.Add(math.MaxInt64)
	}
	if in := at.Sub(v.ask.Now); v.q.NextDue == 0 || in < v.q.NextDue {
		v.q.NextDue = in
	}
}

// saturate says that there may be more jobs than were read.
func (v view) saturate(jobs *driver.RedisReply) {
	if len(jobs.Scores()) == maxDelayed {
		v.q.Saturated = true
	}
}

// listDelayed names the queues that have jobs for later.
func listDelayed(r *driver.RedisReads, o *driver.RedisOptions, found func(queue string)) {
	for _, key := range []string{scheduleKey, retryKey} {
		jobs := r.ZRangeByScore(o.Prefix+key, "-inf", "+inf", maxDelayed)
		r.Then(func() error {
			for queue := range driver.Derived(jobs, shares) {
				found(queue)
			}
			return nil
		})
	}
}
