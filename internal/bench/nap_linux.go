package main

import (
	"syscall"
	"time"
)

// nap sleeps in the kernel, because the runtime's timers round such a short time up to a millisecond.
func nap() {
	t := syscall.NsecToTimespec(int64(20 * time.Microsecond))
	_ = syscall.Nanosleep(&t, nil) // a signal may cut it short, which does no harm
}
