package sample

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

// state says how good the cache's answer is.
type state int

const (
	fresh   state = iota // at most MaxAge old
	news                 // it said that there is nothing to do, and a signal has come since
	usable               // older, but not past StaleAfter
	doubted              // a probe has seen more since than the last full count
	failed               // too old or never read, and a read has been tried
	unread               // no read has been tried yet
)

// A record is what one read said about one Want.
type record struct {
	at     time.Time // when the read began; zero for none
	end    time.Time // when it ended
	queues []driver.Queue
	// partial says that a count stopped at limit, which is below CountLimit.
	partial bool
	limit   int64
	whole   bool // all fields were read, not those of activity alone
}

// fills tells whether the record is as good as a read for the order.
func (r *record) fills(o *order) bool {
	return !r.at.IsZero() && !r.at.Before(o.since) && (!r.partial || o.limit <= r.limit) && (r.whole || !o.whole)
}

// ready is the record's total of ready jobs.
func (r *record) ready() int64 {
	var n int64
	for i := range r.queues {
		n += r.queues[i].Ready
	}
	return n
}

// idle says that there was nothing to do.
func (r *record) idle() bool {
	for i := range r.queues {
		if r.queues[i].Ready > 0 || r.queues[i].Running > 0 {
			return false
		}
	}
	return true
}

// An entry is what is known of one Want.
type entry struct {
	since time.Time // when somebody first wanted it
	asked time.Time // when somebody last did
	tried bool      // a read of it has ended
	full  record    // newest that is whole, with counts up to CountLimit
	last  record    // newest of any
	err   error     // why the last read failed of it alone; nil when it did not
	due   time.Time // when its first scheduled job becomes ready; zero for none
	queue string    // whose job that is
}

// refuted says that a newer read, of activity alone or not counted in full, saw more ready jobs than the full record.
func (e *entry) refuted() bool { return e.last.at.After(e.full.at) && e.last.ready() > e.full.ready() }

// A cache holds the newest records of one source.
type cache struct {
	opts  Options
	onDue func(queue string)

	mu      sync.Mutex
	entries map[driver.Want]*entry
	names   int // bytes of the entries' queues
	signals signals
	swept   time.Time // when idle entries were last dropped
	status  Status
	clock   sourceClock
	timer   *time.Timer // fires at the earliest due
	fires   time.Time   // when timer fires; zero when it is not set
	closed  bool
}

// look notes the interest in wants and returns what is known of them. The view's Err is that of a want which failed
// alone.
func (c *cache) look(wants []driver.Want, now time.Time) (View, state, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	worst := fresh
	var view View
	for _, want := range wants {
		e, err := c.wantLocked(want, now)
		if err != nil {
			return View{}, failed, err
		}
		worst = max(worst, c.grade(e, want.Queue, now))
		view.add(&e.full)
		view.Err = cmp.Or(view.Err, e.err)
	}
	return view, worst, nil
}

// grade says how good an entry's full record is for an answer.
func (c *cache) grade(e *entry, queue string, now time.Time) state {
	age := now.Sub(e.full.at)
	switch {
	case !e.tried:
		return unread
	case e.full.at.IsZero() || age > c.opts.StaleAfter:
		return failed
	case e.refuted():
		return doubted
	case age > c.opts.MaxAge:
		return usable
	case e.full.idle() && c.signals.after(queue, e.full.at):
		return news
	default:
		return fresh
	}
}

// filled returns what fills an order already; false when some of it is not there.
func (c *cache) filled(o *order) (View, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var view View
	for _, want := range o.wants {
		e := c.entries[want]
		switch {
		case e != nil && e.last.fills(o):
			view.add(&e.last)
		case e != nil && e.full.fills(o):
			view.add(&e.full)
		default:
			return View{}, false
		}
	}
	return view, true
}

// wantLocked returns the entry of want, made if need be.
func (c *cache) wantLocked(want driver.Want, now time.Time) (*entry, error) {
	e := c.entries[want]
	if e == nil {
		if c.fullLocked(want, now) {
			return nil, ErrTooManyQueues
		}
		e = &entry{since: now}
		c.entries[want] = e
		c.names += len(want.Queue)
		c.signals.know(want.Queue)
	}
	e.asked = now
	return e, nil
}

// fullLocked says whether there is no room for another want, after forgetting what nobody asks for.
func (c *cache) fullLocked(want driver.Want, now time.Time) bool {
	full := func() bool {
		return c.opts.MaxWants > 0 && len(c.entries) >= c.opts.MaxWants ||
			c.opts.MaxNames > 0 && c.names+len(want.Queue) > c.opts.MaxNames
	}
	if !full() {
		return false
	}
	if now.Sub(c.swept) > time.Second { // a flood of new names must not cost a sweep each
		c.sweepLocked(now)
	}
	return full()
}

// sweepLocked forgets what nobody has asked for lately.
func (c *cache) sweepLocked(now time.Time) {
	c.swept = now
	for want, e := range c.entries {
		if now.Sub(e.asked) > c.opts.Idle {
			delete(c.entries, want)
			c.names -= len(want.Queue)
			c.signals.forget(want.Queue)
		}
	}
}

// addWanted adds every Want that somebody asked for lately, and forgets the others.
func (c *cache) addWanted(wants map[driver.Want]struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweepLocked(time.Now())
	for want := range c.entries {
		wants[want] = struct{}{}
	}
}

// put files what one read of a flight returned of wants, some of the flight's. A failed read leaves all records as
// they are. It returns the queues that streams are to look at: those of which a job has become due before the timer fired, and
// "" when the source's clock has been set, so that any may have.
func (c *cache) put(f *flight, wants []driver.Want, got storage.Sample, err error) (look []string) {
	parts := split(got.Queues)
	if err == nil {
		f.keep(wants, got, parts)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Reads++
	c.status.Tried, c.status.Err = time.Now(), err
	if err != nil {
		c.status.Failures++
	} else {
		c.status.LastRead, c.status.Took, c.status.Notes = got.Started, got.Took, got.Notes
		if c.clock.leaps(&got) {
			look = append(look, "")
		}
	}
	limited := f.limit != 0 && (c.opts.CountLimit == 0 || f.limit < c.opts.CountLimit)
	for _, want := range wants {
		e := c.entries[want]
		if e == nil {
			continue
		}
		e.tried = true
		if err != nil {
			continue
		}
		if e.err = got.Failed[want]; e.err == nil {
			before, queue := e.due, e.queue
			r := record{at: got.Started, end: got.Started.Add(got.Took), queues: parts[want], limit: f.limit, whole: f.whole}
			c.fileLocked(e, want, r, limited)
			c.armLocked(e.due)
			if e.overtook(before) && !r.idle() {
				look = append(look, queue)
			}
		}
	}
	return look
}

// dueSlack is how far apart two reads may put the time at which one job becomes due.
const dueSlack = 50 * time.Millisecond

// overtook says that what was to become due at before is scheduled no more: a read came before the timer, which will not fire
// for it.
func (e *entry) overtook(before time.Time) bool {
	return !before.IsZero() && (e.due.IsZero() || e.due.Sub(before) > dueSlack)
}

// fileLocked makes r the entry's newest record, unless a newer one came first.
func (c *cache) fileLocked(e *entry, want driver.Want, r record, limited bool) {
	if r.whole || r.idle() { // else the read has not looked for it
		e.due = time.Time{}
	}
	for i := range r.queues {
		q := &r.queues[i]
		r.partial = r.partial || limited && q.Saturated
		// The source's clock was read at some time of the read. Whoever looks a moment before a job is due finds nothing, and
		// the rest that the look costs, some nine times as long as it took, stands before the one that would.
		if due := r.end.Add(q.NextDue - want.Lookahead); q.NextDue > 0 && (e.due.IsZero() || due.Before(e.due)) {
			e.due, e.queue = due, q.Name
		}
	}
	if r.at.After(e.last.at) {
		e.last = r
	}
	if r.whole && !r.partial && r.at.After(e.full.at) {
		e.full = r
	}
}

// split sorts a Reading's queues by the Wants that they answer: the named one, and that of every queue.
func split(queues []driver.Queue) map[driver.Want][]driver.Queue {
	parts := make(map[driver.Want][]driver.Queue, len(queues)+1)
	for i := range queues {
		q := &queues[i]
		parts[driver.Want{Queue: q.Name, Lookahead: q.Lookahead}] = queues[i : i+1 : i+1]
		if q.Known {
			all := driver.Want{Lookahead: q.Lookahead}
			parts[all] = append(parts[all], *q)
		}
	}
	return parts
}

// armLocked makes the timer fire at due, unless it fires before that anyway. Firing early is harmless.
func (c *cache) armLocked(due time.Time) {
	if c.closed || due.IsZero() || !c.fires.IsZero() && !due.Before(c.fires) {
		return
	}
	c.fires = due
	if c.timer == nil {
		c.timer = time.AfterFunc(time.Until(due), c.fire)
	} else {
		c.timer.Reset(time.Until(due))
	}
}

// fire says which queues have had a job become due.
func (c *cache) fire() {
	c.mu.Lock()
	now := time.Now()
	c.fires = time.Time{}
	var due []string
	for _, e := range c.entries {
		if !e.due.IsZero() && !e.due.After(now) {
			due = append(due, e.queue)
			e.due = time.Time{}
		}
		c.armLocked(e.due)
	}
	c.mu.Unlock()
	for _, queue := range due {
		c.onDue(queue)
	}
}

func (c *cache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *cache) statusNow() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.status
	out.Wanted = len(c.entries)
	return out
}

// add puts a record into the view. The first record's queues are shared, not copied.
func (v *View) add(r *record) {
	if v.At.IsZero() || r.at.Before(v.At) {
		v.At = r.at
	}
	if v.Queues == nil {
		v.Queues = slices.Clip(r.queues)
	} else {
		v.Queues = append(v.Queues, r.queues...)
	}
}
