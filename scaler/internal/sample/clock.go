package sample

import (
	"time"

	"github.com/leadsman/leadsman/storage"
)

const (
	// leap is how far the source's clock has to go otherwise than this process's, from one read to the next, to count as set.
	leap = 2 * time.Second
	// leapsApart is how long after one that counted none does: servers may take turns whose clocks differ.
	leapsApart = time.Second
)

// A sourceClock notices when somebody sets the source's clock. What was to become due then is due at other times, which no
// timer of ours knows, and no signal tells. It goes by the monotonic clock, so that a step of this machine's own does not
// count.
type sourceClock struct {
	began, ended time.Time // of the last good read; zero before the first
	said         time.Time // what time it was then, as the source has it
	leapt        time.Time // when a leap last counted
}

// leaps takes what a good read said and tells whether the source's clock has been set since the one before. A source that
// tells no time has no clock.
func (c *sourceClock) leaps(got *storage.Sample) bool {
	if got.Now.IsZero() {
		return false
	}
	before := *c
	c.began, c.ended, c.said = got.Started, got.Started.Add(got.Took), got.Now
	if before.said.IsZero() {
		return false
	}
	// Either clock was looked at some time during its read.
	went, least, most := c.said.Sub(before.said), c.began.Sub(before.ended), c.ended.Sub(before.began)
	if went >= least-leap && went <= most+leap || c.began.Sub(c.leapt) < leapsApart {
		return false
	}
	c.leapt = c.began
	return true
}
