//go:build unix

package storagetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A clock is the wall clock of one server alone: the machine's, and what a test puts it off by. libfaketime, which is
// preloaded into the server, looks up the offset in a file each time that the server asks what time it is. The monotonic
// clock goes on as it did, as it does when somebody sets a real clock. The nil clock is the machine's.
type clock struct {
	library string // libfaketime
	also    string // more to preload
	file    string
	account *account // who may read the file; nil for who runs the tests
}

// newClock makes a clock that is right, in a server's directory. variant is the name of the library.
func newClock(dir, variant string, account *account) (*clock, error) {
	for _, pattern := range []string{"/usr/lib/*/faketime", "/usr/lib64/faketime", "/usr/lib/faketime"} {
		found, _ := filepath.Glob(filepath.Join(pattern, variant)) // fails on a malformed pattern only
		if len(found) > 0 {
			c := &clock{library: found[0], file: filepath.Join(dir, "clock"), account: account}
			if err := c.put(0); err != nil {
				return nil, err
			}
			return c, nil
		}
	}
	return nil, errors.New("this test sets a server's clock, and " + variant + " was found in no faketime below /usr/lib: " +
		"run `make deps`, or install the package faketime")
}

// preload has a program go by the clock.
func (c *clock) preload(program string, args []string) (string, []string) {
	if c == nil {
		return program, args
	}
	return "/usr/bin/env", append([]string{
		"LD_PRELOAD=" + c.library + " " + c.also,
		"FAKETIME_TIMESTAMP_FILE=" + c.file, "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1",
		program,
	}, args...)
}

// put writes the offset, so that whoever reads the file sees all of it.
func (c *clock) put(off time.Duration) error {
	next := c.file + ".new"
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+d\n", int64(off.Seconds())), 0o600); err != nil {
		return err
	}
	if err := c.account.own(next); err != nil {
		return err
	}
	return os.Rename(next, c.file)
}

// set puts the clock off the machine's, by whole seconds.
func (c *clock) set(tb testing.TB, off time.Duration) {
	tb.Helper()
	if c == nil {
		tb.Fatal("the server was started without a clock of its own")
	}
	if err := c.put(off); err != nil {
		tb.Fatal(err)
	}
}

// OwnClock gives the server a clock of its own, for SetClock.
func OwnClock() Option {
	return func(c *Cluster) { c.ownClock = true }
}

// SetClock puts the server's clock off the machine's, by whole seconds, with the next look at it. The server was started
// with OwnClock.
func (c *Cluster) SetClock(tb testing.TB, off time.Duration) {
	tb.Helper()
	c.clock.set(tb, off)
}

// WithOwnClock gives the server a clock of its own, for SetClock.
func WithOwnClock() RedisOption {
	return func(s *RedisServer) { s.ownClock = true }
}

// SetClock puts the server's clock off the machine's, by whole seconds, with the next look at it. The server was started
// with WithOwnClock.
func (s *RedisServer) SetClock(tb testing.TB, off time.Duration) {
	tb.Helper()
	s.clock.set(tb, off)
}

// makeClock makes the clock of a server that is to have its own, before the server's first start.
func (c *Cluster) makeClock() error {
	if !c.ownClock {
		return nil
	}
	var err error
	// The variant without locks: PostgreSQL asks for the time in signal handlers, too, and has one thread.
	c.clock, err = newClock(c.dir, "libfaketime.so.1", c.account)
	return err
}

func (s *RedisServer) makeClock() error {
	if !s.ownClock {
		return nil
	}
	var err error
	if s.clock, err = newClock(s.dir, "libfaketimeMT.so.1", nil); err != nil {
		return err
	}
	// jemalloc, which Redis comes with, asks for the time within malloc, and libfaketime needs malloc for its first answer. So
	// Redis gets the C library's malloc.
	s.clock.also = "libc.so.6"
	return nil
}
