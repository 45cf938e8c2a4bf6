package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// enqueueBatch is how many jobs go into one insert, and so between two words of progress.
const enqueueBatch = 1000

func newEnqueueCommand() *cobra.Command {
	var (
		store queueOptions
		count int
		in    time.Duration
	)
	cmd := &cobra.Command{
		Use:   "enqueue QUEUE",
		Short: "Put demonstration jobs into a queue, with River's client",
		Example: `  leadsman enqueue default
  leadsman enqueue mail --count 1000
  leadsman enqueue mail --in 5m
  leadsman enqueue mail --url postgres://app@db/app`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case count < 1:
				return errors.New("--count: give 1 or more")
			case in < 0:
				return errors.New("--in: give a duration that is not negative, such as 5m")
			}
			store.complete()
			return enqueue(cmd.Context(), store, args[0], count, in, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().IntVar(&count, "count", 1, "how many jobs")
	cmd.Flags().DurationVar(&in, "in", 0, "when they are due, from now on (default: at once)")
	store.addFlags(cmd)
	return cmd
}

// enqueue inserts count jobs and says so; on the way it tells of its progress once a second.
func enqueue(ctx context.Context, store queueOptions, name string, count int, in time.Duration, out, progress io.Writer) error {
	q, err := openQueue(ctx, store)
	if err != nil {
		return &failedError{err}
	}
	var at time.Time
	if in > 0 {
		at = time.Now().Add(in)
	}
	told := time.Now()
	for done := 0; done < count; {
		n := min(enqueueBatch, count-done)
		if err := q.insert(ctx, name, n, at); err != nil {
			return &failedError{errors.Join(fmt.Errorf("after %d of %d jobs: %w", done, count, err), q.Close())}
		}
		if done += n; time.Since(told) > time.Second {
			told = time.Now()
			fmt.Fprintf(progress, "%d of %d jobs\n", done, count)
		}
	}
	if err := q.Close(); err != nil {
		return &failedError{err}
	}
	if in > 0 {
		_, err = fmt.Fprintf(out, "enqueued %d in %s, due in %s\n", count, name, in)
	} else {
		_, err = fmt.Fprintf(out, "enqueued %d in %s\n", count, name)
	}
	return err
}
