package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
)

func newWorkCommand() *cobra.Command {
	var (
		store       queueOptions
		concurrency int
		takes       time.Duration
	)
	cmd := &cobra.Command{
		Use:   "work QUEUE",
		Short: "Work a queue's demonstration jobs off, with River's client",
		Long: `Work a queue's demonstration jobs off, with River's client, until interrupted. Each job waits, as one that calls
a slow API does. Jobs that run when the worker is interrupted are finished first.`,
		Example: `  leadsman work default
  leadsman work mail --concurrency 20 --for 500ms
  leadsman work mail --url postgres://app@db/app`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case concurrency < 1 || concurrency > 10_000:
				return errors.New("--concurrency: give a number from 1 to 10000")
			case takes < 0:
				return errors.New("--for: give a duration that is not negative, such as 2s")
			}
			store.complete()
			var done atomic.Int64
			told := func(format string, a ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", a...) }
			told("working %s, %d jobs at once, %s each; interrupt to stop", args[0], concurrency, takes)
			ctx, stop := context.WithCancel(cmd.Context())
			defer stop()
			go report(ctx, &done, told)
			err := work(ctx, store, args[0], concurrency, takes, func() { done.Add(1) })
			told("%d jobs done", done.Load())
			return err
		},
	}
	cmd.Flags().IntVar(&concurrency, "concurrency", 1, "jobs to work at once")
	cmd.Flags().DurationVar(&takes, "for", 2*time.Second, "how long each job takes")
	store.addFlags(cmd)
	return cmd
}

func work(ctx context.Context, store queueOptions, name string, concurrency int, takes time.Duration, done func()) error {
	q, err := openQueue(ctx, store)
	if err != nil {
		return &failedError{err}
	}
	if err := errors.Join(q.work(ctx, name, concurrency, takes, done), q.Close()); err != nil {
		return &failedError{err}
	}
	return nil
}

// report tells once a second how many jobs are done, if there are more.
func report(ctx context.Context, done *atomic.Int64, told func(string, ...any)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if n := done.Load(); n != last {
				last = n
				told("%d jobs done", n)
			}
		}
	}
}
