package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/leadsman/leadsman/scaler/lint"
	"github.com/leadsman/leadsman/storage/driver"
)

// readQueues tells the linter which queues the sources have, by reading each once as the server would. Of one that cannot be
// read the queues stay unknown, and it is said why.
func readQueues(ctx context.Context, configs []SourceConfig, known []lint.Source, problems io.Writer) {
	failures := make([]error, len(configs))
	var group errgroup.Group
	group.SetLimit(examinedAtOnce)
	for i := range configs {
		group.Go(func() error {
			known[i].Queues, failures[i] = queueNames(ctx, &configs[i])
			return nil
		})
	}
	_ = group.Wait() // none fails
	for i, err := range failures {
		if err != nil {
			fmt.Fprintf(problems, "leadsman: warning: queues are not held against source %s: %s\n",
				configs[i].Name, redactAll(err.Error(), configs[i].secrets()))
		}
	}
}

// queueNames are the names of the queues that a source has, in order; never nil without an error.
func queueNames(ctx context.Context, c *SourceConfig) ([]string, error) {
	opened, err := openSource(c, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // it was only read
	everything := driver.Want{}
	x := &sourceExam{
		sourceReport: &sourceReport{source: c}, opened: opened.Source,
		request: driver.Request{Wants: []driver.Want{everything}, Limit: c.Sampling.CountLimit},
	}
	sample, err := x.read(ctx)
	if err == nil {
		err = sample.Failed[everything]
	}
	if err != nil {
		return nil, err
	}
	names := []string{}
	for i := range sample.Queues {
		if sample.Queues[i].Known {
			names = append(names, sample.Queues[i].Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
