package celery

import (
	"maps"
	"math"
	"slices"

	"github.com/leadsman/leadsman/storage/driver"
)

// What is looked at of the tasks in workers' hands, which may be many and large: whichever is reached first.
const (
	firstLook  = 16 // tasks, which tell how large the others are
	mostLooked = 1000
	mostBytes  = 1 << 20
	mostPages  = 16 // a page may hold less than was asked for
)

// mostExchanges bounds the exchanges whose bindings are read; tasks of others count for each queue.
const mostExchanges = 16

const (
	noteEstimate = "Celery keeps what workers hold of all queues in one hash (unacked), and there is much in it: how much of that " +
		"is whose is estimated from a part. Where the database has one queue only, name it under the source's queues"
	noteUnnamed = "tasks in Celery's hash unacked do not say of which queue they are: they count as running in each queue of the database"
)

// A share finds out how many of the tasks in workers' hands are one queue's. They are in one hash for all queues, so
// that there is nothing to it but to look at them; all queues of a read look at the same ones, which are read once.
//
// Whatever is not known to be another queue's counts: a worker that is kept for nothing costs less than one that is
// stopped with tasks in its hands.
type share struct {
	r    *driver.RedisReads // lenient
	ask  *driver.RedisAsk
	q    *driver.Queue
	held int64 // tasks in the hash
}

// look reads some n tasks from a cursor on, after those of before.
func (s *share) look(cursor string, n int, before tally) {
	page := s.r.HScan(s.ask.Prefix+unackedKey, cursor, n)
	s.r.Then(func() error {
		if page.Err == nil {
			s.looked(page, driver.Derived(page, before.plus), before.pages)
		} else { // refused, they may all be this queue's
			s.q.Running, s.q.Known = s.held, true
		}
		return nil
	})
}

// looked decides whether that was enough. Where the cursor came back to one that was before, the page is one that was seen,
// and following it would never end.
func (s *share) looked(page *driver.RedisReply, seen tally, before int) {
	more := seen.more()
	if seen.complete || more == 0 || seen.pages <= before || s.enough(seen.tasks[address{"", s.ask.Queue}]) {
		s.bindings(seen)
	} else {
		s.look(page.Cursor(), more, seen)
	}
}

// enough says that nobody asks how many more there are.
func (s *share) enough(running int64) bool { return s.ask.Limit > 0 && running >= s.ask.Limit }

// bindings reads which queues exchanges lead to, where tasks were sent to some, and adds up after that.
func (s *share) bindings(seen tally) {
	exchanges := map[string]bool{}
	for to := range seen.tasks {
		exchanges[to.exchange] = true
	}
	delete(exchanges, "")
	sets := map[string]*driver.RedisReply{}
	for i, exchange := range slices.Sorted(maps.Keys(exchanges)) {
		if i < mostExchanges {
			sets[exchange] = s.r.SMembers(s.ask.Prefix + bindingKey + exchange)
		}
	}
	s.r.Then(func() error {
		s.add(seen, sets)
		return nil
	})
}

// add counts this queue's tasks, and those that may be.
func (s *share) add(seen tally, sets map[string]*driver.RedisReply) {
	mine, unnamed := seen.tasks[address{"", s.ask.Queue}], seen.unnamed
	for to, n := range seen.tasks {
		if to.exchange == "" {
			continue
		}
		bounds := boundsOf(sets[to.exchange], s.ask.Separator)
		switch {
		case len(bounds) == 0: // it is not known where they went
			unnamed += n
		case slices.ContainsFunc(bounds, func(b bound) bool { return b.queue == s.ask.Queue && b.takes(to.key) }):
			mine += n
		}
	}
	s.sum(seen, mine, unnamed)
}

// sum counts what was seen, and of the rest the same part, but at least one.
func (s *share) sum(seen tally, mine, unnamed int64) {
	running := mine + unnamed
	switch rest := s.held - seen.looked; {
	case seen.complete || rest <= 0:
	case s.enough(running):
		s.q.Saturated = true
	default:
		part := float64(rest)
		if seen.looked > 0 {
			part *= float64(running) / float64(seen.looked)
		}
		running += max(1, int64(math.Ceil(part)))
		s.q.Saturated = true
		s.r.Note(noteEstimate)
	}
	if unnamed > 0 {
		s.r.Note(noteUnnamed)
	}
	s.q.Running = running
	s.q.Known = s.q.Known || running > 0
}
