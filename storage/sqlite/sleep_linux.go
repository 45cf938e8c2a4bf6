package sqlite

import (
	"time"

	"golang.org/x/sys/unix"
)

// shortSleep sleeps for less than a millisecond, in the kernel: the runtime's own timers are rounded up to a
// whole millisecond when nothing else runs (epoll_wait), which is several times what a burst wants to wait.
func shortSleep(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.Nanosleep(&ts, nil) // woken early by a signal: then the look comes early
}
