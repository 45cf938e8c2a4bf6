// Package bulljobs is what Bull and BullMQ have in common, for their presets: how they write the times of delayed jobs, and
// where they keep what tells since when a job has waited.
package bulljobs

import (
	"math"
	"strconv"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
)

// perMilli is the scores that a millisecond has in the set of delayed jobs: a score is the millisecond at which the job
// is due, times this, and the rest keeps those of one millisecond in order.
const perMilli = 4096

// Due is the highest score of the jobs that are due at t, and of those that are due in its millisecond.
func Due(t time.Time) string { return strconv.FormatInt((t.UnixMilli()+1)*perMilli-1, 10) }

// DueAt is when the job of a score is due; false when that is no time of a job.
func DueAt(score float64) (time.Time, bool) {
	return epoch.Time(math.Floor(score/perMilli), time.Millisecond)
}

// Delayed is the reads of a queue's set of delayed jobs.
type Delayed struct {
	ask              *driver.RedisAsk
	due, later, next *driver.RedisReply
}

// ReadDelayed asks for the delayed jobs in a key.
func ReadDelayed(r *driver.RedisReads, ask *driver.RedisAsk, key string) Delayed {
	due := Due(ask.Due())
	d := Delayed{ask: ask, due: r.ZCount(key, "-inf", due), next: r.ZRangeByScore(key, "("+due, "+inf", 1)}
	if !ask.Activity {
		d.later = r.ZCount(key, "("+due, "+inf")
	}
	return d
}

// Due counts the jobs that are due. No worker has made them wait for it yet, and at zero replicas none will.
func (d Delayed) Due() int64 { return d.due.Int() }

// Fill says what is due later.
func (d Delayed) Fill(q *driver.Queue) {
	if d.later != nil {
		q.Scheduled = d.later.Int()
	}
	for _, job := range d.next.Scores() {
		// A score that is no time is due at the end of days: there is nothing to wake up for.
		if due, ok := DueAt(job.Score); ok {
			q.NextDue = max(1, due.Sub(d.ask.Now))
		}
	}
}
