//go:build !linux

package main

import "time"

// nap sleeps for as short a time as the system does.
func nap() { time.Sleep(20 * time.Microsecond) }
