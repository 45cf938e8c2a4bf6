//go:build !linux

package sqlite

import "time"

func shortSleep(d time.Duration) { time.Sleep(d) }
