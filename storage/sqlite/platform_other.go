//go:build !unix

package sqlite

import "time"

func readable(string) bool { return true }

func shortSleep(d time.Duration) { time.Sleep(d) }
