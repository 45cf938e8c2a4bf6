package redis

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// A clock knows the server's time without asking for it each time: what it was at one instant of the local clock's,
// which runs evenly in between.
type clock struct {
	mu     sync.Mutex
	server time.Time // zero until the first reply
	local  time.Time // when that was asked for
	said   time.Time // last, so that it does not go back by what the network took
}

const (
	// jump is how far the server's clock may be from where it is expected.
	jump = time.Second
	// askAgain is how long a cluster's clock is taken to run evenly. Other servers are asked with each read.
	askAgain = 10 * time.Second
)

// set takes a reply to TIME that was asked for at local. It reports whether the clock had been off.
func (c *clock) set(server, local time.Time) (jumped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.server.IsZero() {
		off := server.Sub(c.server.Add(local.Sub(c.local)))
		jumped = off > jump+time.Since(local) || off < -jump
	}
	c.server, c.local = server, local
	if jumped {
		c.said = time.Time{}
	}
	return jumped
}

// now is the server's time, which only a jump of its clock turns back; false before it was ever told.
func (c *clock) now() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server.IsZero() {
		return time.Time{}, false
	}
	if now := c.server.Add(time.Since(c.local)); now.After(c.said) {
		c.said = now
	}
	return c.said, true
}

// old says that the clock was told longer ago than askAgain.
func (c *clock) old() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.local) > askAgain
}

// now returns the server's time, by asking for it where that has not been done.
func (s *session) now(ctx context.Context) (time.Time, error) {
	if now, ok := s.clock.now(); ok {
		if s.kind == cluster && s.clock.old() {
			s.askAgain() //nolint:contextcheck // it is no part of the read, which may end before
		}
		return now, nil
	}
	asked := time.Now()
	if s.noTime.Load() {
		return asked, nil
	}
	if _, err := s.takeTime(s.client.Do(ctx, s.client.B().Time().Build()), asked); err != nil {
		return time.Time{}, err
	}
	if now, ok := s.clock.now(); ok {
		return now, nil
	}
	return asked, nil
}

// askAgain asks a node of a cluster for the time, beside the reads: it may be one that does not answer, and hold none of
// what they are after. Meanwhile the clock runs on.
func (s *session) askAgain() {
	if s.asking.Swap(true) {
		return
	}
	s.tasks.Go(func() {
		defer s.asking.Store(false)
		ctx, cancel := context.WithTimeout(s.life, jump)
		defer cancel()
		asked := time.Now()
		_, _ = s.takeTime(s.client.Do(ctx, s.client.B().Time().Build()), asked) // the next read sees to it again
	})
}

// takeTime takes a reply to TIME, and says whether the clock had been off. Where the server refuses it, the local clock is
// all there is.
func (s *session) takeTime(reply rueidis.RedisResult, asked time.Time) (jumped bool, err error) {
	parts, err := reply.AsStrSlice()
	if refusal(err) {
		s.noTime.Store(true)
		s.refused.add("TIME", "this host's clock decides what is due")
		return false, nil
	}
	if err != nil {
		return false, err
	}
	server, err := serverTime(parts)
	if err != nil {
		return false, err
	}
	return s.clock.set(server, asked), nil
}

func serverTime(parts []string) (time.Time, error) {
	if len(parts) != 2 {
		return time.Time{}, errTime
	}
	seconds, err1 := strconv.ParseInt(parts[0], 10, 64)
	micros, err2 := strconv.ParseInt(parts[1], 10, 64)
	if err1 != nil || err2 != nil {
		return time.Time{}, errTime
	}
	return time.Unix(seconds, micros*1000), nil
}
