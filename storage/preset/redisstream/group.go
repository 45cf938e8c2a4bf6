package redisstream

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/storage/internal/epoch"
)

// What is read of the entries that a group has not got. Reading them brings their bodies along, so it is few.
const (
	probed    = 10
	mostRead  = 1000 // where the server does not know their number
	unknown   = -1
	endOfTime = "+"
)

// A group is a consumer group.
type group struct {
	pending int64
	last    string // the id of the last entry that it got
	lag     int64  // the server's word for how many it has not got, or unknown
}

// groupOf reads a group's fields.
func groupOf(fields map[string]string) (group, error) {
	g := group{last: fields["last-delivered-id"], lag: unknown}
	var err error
	if g.pending, err = strconv.ParseInt(fields["pending"], 10, 64); err != nil || g.pending < 0 {
		return g, fmt.Errorf("pending is %q, and no number", fields["pending"])
	}
	if after(g.last) == "" {
		return g, fmt.Errorf("last-delivered-id is %q, and no id", g.last)
	}
	// It is null after XDEL, and not there before Redis 7.
	if lag, err := strconv.ParseInt(fields["lag"], 10, 64); err == nil && lag >= 0 {
		g.lag = lag
	}
	return g, nil
}

// probe looks at the first entries that a group has not got. If they are few, that is how many there are, whatever the
// server says: a Redis before 7.4 that trimmed entries which nobody had got counts them in lag for ever. They
// begin where pending ends, and stay in the stream when a worker gets them meanwhile.
func (s *stream) probe(g group) {
	first := s.r.XRange(s.key, after(g.last), endOfTime, probed)
	s.r.Then(func() error {
		ids := first.Texts()
		if len(ids) > 0 && !s.ask.Activity {
			s.since(ids[0])
		}
		switch {
		case len(ids) < probed:
			s.q.Ready += int64(len(ids))
		case g.lag == unknown:
			s.count(g)
		default:
			s.q.Ready += max(probed, min(g.lag, s.length.Int()))
		}
		return nil
	})
}

// count reads the entries that a group has not got, up to a bound.
func (s *stream) count(g group) {
	n := mostRead
	if s.ask.Limit > 0 {
		n = int(min(mostRead, max(probed, s.ask.Limit)))
	}
	entries := s.r.XRange(s.key, after(g.last), endOfTime, n)
	s.r.Then(func() error {
		s.q.Ready += int64(len(entries.Texts()))
		s.q.Saturated = s.q.Saturated || len(entries.Texts()) == n
		return nil
	})
}

// since takes an entry for one that waits since its id was made, where that is a time.
func (s *stream) since(id string) {
	ms, _, _ := strings.Cut(id, "-")
	if at, ok := epoch.Parse(ms); ok && at.Year() >= 2000 { // ids may be numbers of somebody's choice
		s.q.Oldest = max(s.q.Oldest, s.ask.Now.Sub(at))
	}
}

// after is the id that follows another; "" when that is none. Redis before 6.2 has no word for it.
func after(id string) string {
	first, second, _ := strings.Cut(id, "-")
	ms, err1 := strconv.ParseUint(first, 10, 64)
	seq, err2 := strconv.ParseUint(second, 10, 64)
	switch {
	case err1 != nil || err2 != nil:
		return ""
	case seq < math.MaxUint64:
		return fmt.Sprintf("%d-%d", ms, seq+1)
	case ms < math.MaxUint64:
		return fmt.Sprintf("%d-0", ms+1)
	}
	return id // there is none
}
