package resque

import (
	"math"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
	"github.com/leadsman/leadsman/storage/internal/jsonfield"
)

// The delayed jobs of all queues that are due at the same second are in one list, and which queue one is for is said by
// its JSON alone: they have to be read to be counted. So no more than these are, from the earliest on.
const (
	maxInstants = 250  // due or not
	maxNext     = 50   // not due, where only the next job is of interest
	maxJobs     = 1000 // due or not
)

// A span is a part of the schedule: some instants, in order.
type span struct {
	prefix   string
	instants *driver.RedisReply
	most     int // how many were asked for
}

// planSchedule reads which instants there are, up to the one until which jobs count as ready and after it.
func (v view) planSchedule() (due, later span) {
	key, now := v.key(scheduleKey), epoch.Seconds(v.ask.Due())
	most := maxInstants
	if v.ask.Activity {
		most = maxNext
	}
	return span{v.ask.Prefix, v.r.ZRangeByScore(key, "-inf", now, maxInstants), maxInstants},
		span{v.ask.Prefix, v.r.Unwatched().ZRangeByScore(key, "("+now, "+inf", most), most}
}

// plan reads the jobs of a span. It passes each instant and how many jobs the queues have then to visit, and last, when
// there may be more jobs than were read, the instant from which on there may be to rest.
func (s span) plan(r *driver.RedisReads, visit func(at float64, jobs map[string]int64), rest func(at float64)) {
	instants := s.instants.Scores()
	lengths := make([]*driver.RedisReply, len(instants))
	for i, instant := range instants {
		lengths[i] = r.LLen(s.prefix + delayedKey + instant.Element)
	}
	r.Then(func() error {
		jobs := make([]*driver.RedisReply, 0, len(instants))
		left := int64(maxJobs)
		for i := 0; i < len(instants) && left > 0; i++ {
			n := min(lengths[i].Int(), left)
			left -= n
			jobs = append(jobs, r.LRange(s.prefix+delayedKey+instants[i].Element, 0, int(max(n, 1))-1))
		}
		r.Then(func() error {
			for i, reply := range jobs {
				visit(instants[i].Score, driver.Derived(reply, byQueue))
			}
			if i, more := s.unread(lengths, len(jobs)); more {
				rest(instants[i].Score)
			}
			return nil
		})
		return nil
	})
}

// unread finds the first instant of which jobs were not read, or the last one when there may be instants behind it.
func (s span) unread(lengths []*driver.RedisReply, read int) (index int, more bool) {
	var jobs int64
	for i, length := range lengths {
		if jobs += length.Int(); jobs > maxJobs || i >= read {
			return i, true
		}
	}
	return len(lengths) - 1, len(lengths) == s.most
}

// byQueue counts delayed jobs. One without a queue is of a resque-scheduler that looks it up in the job's class.
func byQueue(jobs *driver.RedisReply) map[string]int64 {
	out := map[string]int64{}
	for _, job := range jobs.Texts() {
		if fields, ok := jsonfield.Read(job, "queue"); ok && fields[0] != "" {
			out[fields[0]]++
		}
	}
	return out
}

// planDue counts the jobs that are due as ready.
func (v view) planDue(due span) {
	due.plan(v.r, func(at float64, jobs map[string]int64) {
		mine := jobs[v.ask.Queue]
		if mine == 0 {
			return
		}
		v.q.Known = true
		if v.q.Paused {
			return
		}
		v.q.Ready += mine
		if since, ok := epoch.Time(at, time.Second); ok {
			v.q.Oldest = max(v.q.Oldest, v.ask.Now.Sub(since))
		}
	}, func(float64) { v.q.Saturated = true })
}

// planLater counts the jobs that are not due yet.
func (v view) planLater(later span) {
	later.plan(v.r, func(at float64, jobs map[string]int64) {
		if mine := jobs[v.ask.Queue]; mine > 0 {
			v.q.Known = true
			v.q.Scheduled += mine
			v.next(at)
		}
	}, func(at float64) {
		v.q.Saturated = v.q.Saturated || !v.ask.Activity
		v.next(at) // none of ours is due before that, and then it is time to look again
	})
}

// next notes when the next job is due, unless an earlier one is.
func (v view) next(due float64) {
	at, ok := epoch.Time(due, time.Second)
	if !ok { // so far ahead that it is no date
		at = v.ask.Now.Add(math.MaxInt64)
	}
	if v.q.NextDue == 0 {
		v.q.NextDue = at.Sub(v.ask.Now)
	}
}
