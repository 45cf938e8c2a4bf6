package laravel

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/internal/epoch"
	"github.com/leadsman/leadsman/storage/internal/jsonfield"
)

// The keys of one queue begin with the connection's prefix, queuesPart and the queue's name. The first of them ends
// there: it is the list of the jobs that are ready, the oldest first. Scores are seconds.
const (
	queuesPart   = "queues:"
	delayedPart  = ":delayed"  // sorted set of jobs, by when they are due
	reservedPart = ":reserved" // sorted set of jobs, by when their reservation ends
	notifyPart   = ":notify"   // list that workers block on; it says nothing of its own
)

// onRedis is Laravel's Redis queue as it has been since 5.3, and Horizon's, which is the same.
var onRedis = driver.Redis{
	Options:  driver.RedisPrefix | driver.RedisQueues,
	Defaults: driver.RedisOptions{Prefix: "laravel_database_"},
	Queue:    planQueue,
	Near:     nearQueues,
}

// base is what the keys of a queue begin with. A prefix may say queues: itself, so that an application that has none
// can say so.
func base(prefix, queue string) string {
	return strings.TrimSuffix(prefix, queuesPart) + queuesPart + queue
}

// planQueue reads a queue in the order in which a job goes through it.
func planQueue(r *driver.RedisReads, ask *driver.RedisAsk, q *driver.Queue) {
	key := base(ask.Prefix, ask.Queue)
	due, now := epoch.Seconds(ask.Due()), epoch.Seconds(ask.Now)
	delayed, next := r.ZCount(key+delayedPart, "-inf", due), r.ZRangeByScore(key+delayedPart, "("+due, "+inf", 1)
	list := r.LLen(key)
	expired, reserved := r.ZCount(key+reservedPart, "-inf", now), r.ZCount(key+reservedPart, "("+now, "+inf")
	var later *driver.RedisReply
	if !ask.Activity {
		later = r.ZCount(key+delayedPart, "("+due, "+inf")
	}
	r.Then(func() error {
		q.Ready = list.Int() + delayed.Int() + expired.Int()
		q.Running = reserved.Int()
		q.Known = q.Ready+q.Running > 0
		for _, first := range next.Scores() {
			q.Known = true
			if at, ok := epoch.Time(first.Score, time.Second); ok {
				q.NextDue = at.Sub(ask.Now)
			}
		}
		if ask.Activity {
			return nil
		}
		q.Scheduled = later.Int()
		o := oldest{r.Lenient(), ask, q}
		if delayed.Int() > 0 {
			o.planHead(key+delayedPart, due)
		}
		if expired.Int() > 0 {
			o.planHead(key+reservedPart, now)
		}
		if list.Int() > 0 {
			o.planList(key)
		}
		return nil
	})
}

// An oldest finds out when the oldest of the ready jobs of a queue became so.
type oldest struct {
	r   *driver.RedisReads // lenient
	ask *driver.RedisAsk
	q   *driver.Queue
}

func (o oldest) since(at time.Time) { o.q.Oldest = max(o.q.Oldest, o.ask.Now.Sub(at)) }

// planHead reads the lowest score of a sorted set.
func (o oldest) planHead(key, upTo string) {
	head := o.r.ZRangeByScore(key, "-inf", upTo, 1)
	o.r.Then(func() error {
		for _, first := range head.Scores() {
			if at, ok := epoch.Time(first.Score, time.Second); ok {
				o.since(at)
			}
		}
		return nil
	})
}

// planList reads the first job of the list.
func (o oldest) planList(key string) {
	first := o.r.LIndex(key, 0)
	o.r.Then(func() error {
		job, _ := first.Text()
		if at, ok := readySince(job); ok {
			o.since(at)
		}
		return nil
	})
}

// readySince reads from a job in the list when it was put there: Horizon says so, and Laravel when the job was made and
// by how much it was delayed. Of a job that is tried again nobody knows.
func readySince(job string) (time.Time, bool) {
	fields, ok := jsonfield.Read(job, "attempts", "delay", "pushedAt", "createdAt")
	attempts, delay := fields[0], fields[1]
	if !ok || attempts != "" && attempts != "0" {
		return time.Time{}, false
	}
	at, ok := epoch.Parse(cmp.Or(fields[2:]...))
	if seconds, err := strconv.ParseInt(delay, 10, 32); err == nil {
		at = at.Add(time.Duration(seconds) * time.Second)
	}
	return at, ok
}

// nearQueues finds queues of any prefix: a wrong one is why a queue is not known.
func nearQueues(o *driver.RedisOptions) (match string, name func(key string) (queue string, ok bool)) {
	own := base(o.Prefix, "")
	return "*" + queuesPart + "*", func(key string) (string, bool) {
		for _, part := range []string{delayedPart, reservedPart, notifyPart} {
			key = strings.TrimSuffix(key, part)
		}
		name := strings.TrimPrefix(key, own)
		return name, name != ""
	}
}
