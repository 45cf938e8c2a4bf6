package rediskeys

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
)

// units are those of scores that are times, by their names.
var units = map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond}

// A counter counts the elements of one key.
type counter struct {
	ask   *driver.RedisAsk
	index int // in the source's keys
	spec  driver.RedisKey
	key   string

	// Of a sorted set with a unit, early are those up to the instant until, and late those after it.
	until       time.Time
	early, late *driver.RedisReply
	next        *driver.RedisReply // the first of late

	count  *driver.RedisReply // of others
	exists *driver.RedisReply // of streams, which may be empty
}

func newCounter(r *driver.RedisReads, ask *driver.RedisAsk, index int) counter {
	spec := ask.Keys[index]
	c := counter{ask: ask, index: index, spec: spec, key: nameOf(spec.Key, ask.Queue)}
	switch {
	case c.timed():
		c.until = ask.Due()
		if spec.State == stateRunning { // scores are the ends of leases, which no lookahead makes earlier
			c.until = ask.Now
		}
		until := c.score(c.until)
		c.early = r.ZCount(c.key, "-inf", until)
		c.late = r.ZCount(c.key, "("+until, "+inf")
		c.next = r.ZRangeByScore(c.key, "("+until, "+inf", 1)
	case spec.Type == typeZset:
		c.count = r.ZCard(c.key)
	case spec.Type == typeSet:
		c.count = r.SCard(c.key)
	case spec.Type == typeHash:
		c.count = r.HLen(c.key)
	case spec.Type == typeStream:
		c.count, c.exists = r.XLen(c.key), r.Exists(c.key)
	default:
		c.count = r.LLen(c.key)
	}
	return c
}

// timed says that the elements have times.
func (c counter) timed() bool { return c.spec.Unit != "" }

// score is a time as the sorted set has it.
func (c counter) score(t time.Time) string {
	return strconv.FormatFloat(float64(t.UnixNano())/float64(units[c.spec.Unit]), 'f', -1, 64)
}

// fill adds up.
func (c counter) fill(q *driver.Queue) error {
	if !c.timed() {
		switch c.spec.State {
		case stateRunning:
			q.Running += c.count.Int()
		case stateScheduled:
			q.Scheduled += c.count.Int()
		default:
			q.Ready += c.count.Int()
		}
		q.Known = q.Known || c.count.Int() > 0 || c.exists != nil && c.exists.Int() > 0
		return nil
	}
	q.Ready += c.early.Int() // due ones, or those whose worker let the lease end
	q.Known = q.Known || c.early.Int()+c.late.Int() > 0
	if c.spec.State == stateRunning {
		q.Running += c.late.Int()
		return c.checkNext(nil)
	}
	q.Scheduled += c.late.Int()
	return c.checkNext(q)
}

// checkNext takes the time of the first late element for that when a job of q is due, unless q is nil. It refuses a score
// that is no time, because then the unit is wrong, and what is due is not known to be.
func (c counter) checkNext(q *driver.Queue) error {
	for _, first := range c.next.Scores() {
		at, ok := epoch.Time(first.Score, units[c.spec.Unit])
		switch {
		case math.IsInf(first.Score, 1): // never
		case !ok:
			return driver.Errorf(driver.Schema, "key %q: the score %s is no time in %s; correct keys[%d].unit",
				c.key, strconv.FormatFloat(first.Score, 'f', -1, 64), c.spec.Unit, c.index)
		case q != nil && (q.NextDue == 0 || at.Sub(c.ask.Now) < q.NextDue):
			q.NextDue = at.Sub(c.ask.Now)
		}
	}
	return nil
}

// oldest finds out when the first of the key's ready elements became so, where that is to be known.
func (c counter) oldest(r *driver.RedisReads, q *driver.Queue) {
	switch {
	case c.timed() && c.early.Int() > 0:
		head := r.ZRangeByScore(c.key, "-inf", c.score(c.until), 1)
		r.Then(func() error {
			for _, first := range head.Scores() {
				c.suspect(r, first.Score)
				if at, ok := epoch.Time(first.Score, units[c.spec.Unit]); ok {
					c.since(q, at)
				}
			}
			return nil
		})
	case c.spec.Type == typeStream && c.spec.State == stateReady:
		head := r.XRange(c.key, "-", "+", 1)
		r.Then(func() error {
			for _, id := range head.Texts() {
				ms, _, _ := strings.Cut(id, "-")
				if at, ok := epoch.Parse(ms); ok {
					c.since(q, at)
				}
			}
			return nil
		})
	}
}

func (c counter) since(q *driver.Queue, at time.Time) { q.Oldest = max(q.Oldest, c.ask.Now.Sub(at)) }

// Times of jobs are of these years.
var (
	earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// suspect says so when a score would be a time of our age in another unit, and is not in the source's.
func (c counter) suspect(r *driver.RedisReads, score float64) {
	plausible := func(unit time.Duration) bool {
		at, ok := epoch.Time(score, unit)
		return ok && at.After(earliest) && at.Before(latest)
	}
	if plausible(units[c.spec.Unit]) {
		return
	}
	for name, unit := range units {
		if plausible(unit) {
			r.Note(fmt.Sprintf("the scores of key %q look like %s and not %s; see keys[%d].unit", c.key, name, c.spec.Unit, c.index))
		}
	}
}
