package bulljobs

import (
	"strconv"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
	"github.com/leadsman/leadsman/storage/internal/jsonfield"
)

// maxDelay is the longest delay that is believed, in milliseconds: some 30 years.
const maxDelay = 1e12

// Ages finds out how long the oldest ready job of a queue has waited. Its reads are lenient.
type Ages struct {
	reads *driver.RedisReads
	ask   *driver.RedisAsk
	base  string // what the keys of the queue begin with
	q     *driver.Queue
}

// NewAges sets q.Oldest to the age of the oldest of the jobs that its methods are told of.
func NewAges(r *driver.RedisReads, ask *driver.RedisAsk, base string, q *driver.Queue) *Ages {
	return &Ages{reads: r.Lenient(), ask: ask, base: base, q: q}
}

// Reads are lenient reads, for finding jobs.
func (a *Ages) Reads() *driver.RedisReads { return a.reads }

// Job looks at a job that waits, in the hash of that id.
func (a *Ages) Job(id string) {
	job := a.reads.HMGet(a.base+id, "timestamp", "processedOn", "opts")
	a.reads.Then(func() error {
		if fields := job.Texts(); len(fields) == 3 {
			a.since(readyAt(fields[0], fields[1], fields[2]))
		}
		return nil
	})
}

// List looks at the jobs at the ends of a list. The oldest of those that came in turn is the last, or behind a marker; that
// of those that are to be taken first because they came last is the first.
func (a *Ages) List(key string) {
	first, last := a.reads.LIndex(key, 0), a.reads.LRange(key, -2, -1)
	a.reads.Then(func() error {
		if id, ok := first.Text(); ok {
			a.Job(id)
		}
		for _, id := range last.Texts() {
			a.Job(id)
		}
		return nil
	})
}

// Delayed looks at the delayed jobs that are due.
func (a *Ages) Delayed(key string) {
	first := a.reads.ZRangeByScore(key, "-inf", Due(a.ask.Due()), 1)
	a.reads.Then(func() error {
		for _, job := range first.Scores() {
			a.since(DueAt(job.Score))
		}
		return nil
	})
}

// since takes when a job became ready. 1970 is the library's way to say at once.
func (a *Ages) since(t time.Time, known bool) {
	if known && t.Unix() > 0 {
		a.q.Oldest = max(a.q.Oldest, a.ask.Now.Sub(t))
	}
}

// delayOf is by how much a job was put off when it was added.
func delayOf(opts string) time.Duration {
	fields, _ := jsonfield.Read(opts, "delay")
	delay, err := strconv.ParseFloat(fields[0], 64)
	if err != nil || !(delay > 0 && delay < maxDelay) {
		return 0
	}
	return time.Duration(delay) * time.Millisecond
}

// readyAt is when a job that waits became ready: when its delay was over after it was added, or after a worker gave it
// up, whichever was later. By how much a retry was put off is not kept.
func readyAt(timestamp, processedOn, opts string) (time.Time, bool) {
	added, ok := epoch.Parse(timestamp)
	if ok {
		added = added.Add(delayOf(opts))
	}
	if taken, again := epoch.Parse(processedOn); again && (!ok || taken.After(added)) {
		return taken, true
	}
	return added, ok
}
