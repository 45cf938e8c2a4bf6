// Package main is leadsman's own, over which this file is laid: it sets the wall clock that step.go gives package time.
package main

import (
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// On SIGUSR2 the wall clock is put off by what the file says that E2E_CLOCK names, in seconds.
func init() {
	orders := make(chan os.Signal, 1)
	signal.Notify(orders, syscall.SIGUSR2)
	go func() {
		for range orders {
			text, err := os.ReadFile(os.Getenv("E2E_CLOCK"))
			if err != nil {
				panic(err)
			}
			seconds, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err != nil {
				panic(err)
			}
			time.PutOff(seconds)
		}
	}()
}
