package flexiq

import (
	"math"
	"strconv"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
)

// A lane is the jobs of one priority in the sorted set of a queue's pending ones. A job's score is its lane times
// laneWidth plus the time from which it is due, in milliseconds: the lower the lane, the sooner its turn.
type lane int64

const (
	laneWidth = 10_000_000_000_000
	usual     = lane(1000) // of priority 0; higher priorities are in lower lanes

	// mostLanes are looked at one by one, in one round each.
	mostLanes = 32
	// bound is beyond all lanes.
	bound = 1_000_000_000_000_000_000
)

func (l lane) start() int64 { return int64(l) * laneWidth }
func (l lane) end() int64   { return (int64(l) + 1) * laneWidth }

// time reads a score of the lane. Scores are rounded to two milliseconds.
func (l lane) time(score float64) (time.Time, bool) {
	return epoch.Time(score-float64(l.start()), time.Millisecond)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// A waiting is what is found out of a queue's pending jobs.
type waiting struct {
	r   *driver.RedisReads
	ask *driver.RedisAsk
	q   *driver.Queue
	key string

	total *driver.RedisReply // of all lanes
	ready int64
	later int64
	lanes int // looked at, beside the usual one
}

// plan reads the usual lane, which is mostly the only one, and looks for the first of all.
func (w *waiting) plan() {
	w.total = w.r.ZCard(w.key)
	w.planLane(usual)
	w.planNext(-bound)
}

// planLane reads one lane.
func (w *waiting) planLane(l lane) {
	until := number(l.start() + w.ask.Due().UnixMilli())
	due := w.r.ZCount(w.key, number(l.start()), until)
	later := w.r.ZCount(w.key, "("+until, "("+number(l.end()))
	next := w.r.ZRangeByScore(w.key, "("+until, "("+number(l.end()), 1)
	w.r.Then(func() error {
		w.ready += due.Int()
		w.later += later.Int()
		for _, first := range next.Scores() {
			at, ok := l.time(first.Score)
			if in := at.Sub(w.ask.Now); ok && in > 0 && (w.q.NextDue == 0 || in < w.q.NextDue) {
				w.q.NextDue = in
			}
		}
		if !w.ask.Activity && due.Int() > 0 {
			w.planOldest(l, until)
		}
		return nil
	})
}

// planOldest reads since when the first of a lane's jobs has been due.
func (w *waiting) planOldest(l lane, until string) {
	head := w.r.Lenient().ZRangeByScore(w.key, number(l.start()), until, 1)
	w.r.Then(func() error {
		for _, first := range head.Scores() {
			if at, ok := l.time(first.Score); ok && !w.q.Paused {
				w.q.Oldest = max(w.q.Oldest, w.ask.Now.Sub(at))
			}
		}
		return nil
	})
}

// planNext looks for the next lane that has jobs, from a score on, and reads it, until all jobs have been seen.
func (w *waiting) planNext(from int64) {
	next := w.r.ZRangeByScore(w.key, number(from), number(bound), 1)
	w.r.Then(func() error {
		head := next.Scores()
		if len(head) == 0 || w.lanes == mostLanes || w.ready+w.later >= w.total.Int() {
			w.finish()
			return nil
		}
		l := lane(math.Floor(head[0].Score / laneWidth))
		if l != usual {
			w.lanes++
			w.planLane(l)
		}
		w.planNext(l.end())
		return nil
	})
}

// finish adds up. Jobs in no lane that was looked at are ready, because they may be.
func (w *waiting) finish() {
	rest := max(0, w.total.Int()-w.ready-w.later)
	w.q.Ready, w.q.Scheduled = w.ready+rest, w.later
	w.q.Saturated = rest > 0
	if w.q.Paused {
		w.q.Ready = 0
	}
}
