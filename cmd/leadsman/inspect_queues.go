package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/leadsman/leadsman/internal/show"
	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

func newInspectQueuesCommand(o *inspectOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "queues [SOURCE]",
		Short: "List the queues of a source, or of all of them",
		Long: `List the queues of a source, or of all of them, from samples as fresh as KEDA's.

READY jobs could be started now; RUNNING ones are claimed by a worker; SCHEDULED ones are due later, the first of them
after NEXT. OLDEST is how long the oldest ready job has waited. A count with + stopped at the source's countLimit.
A source that cannot be read hides no other: the others are listed, and the exit code is 1.`,
		Example: `  leadsman inspect queues
  leadsman inspect queues mail -o wide
  leadsman inspect queues mail -o json | jq '[.queues[].ready] | add'`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.completeNames(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.look(cmd, func(ctx context.Context, c *client, p *show.Printer) error {
				sources, err := c.sourceNames(ctx, args)
				if err != nil {
					return err
				}
				var queues []*leadsmanv1.Queue
				var failures []error
				for _, source := range sources {
					some, err := c.allQueues(ctx, source)
					if err != nil {
						failures = append(failures, err)
					}
					queues = append(queues, some...)
				}
				if len(failures) < len(sources) || len(sources) == 0 {
					if err := printQueues(p, queues); err != nil {
						return err
					}
				}
				return together(failures)
			})
		},
	}
}

// together makes one failure of several; nil for none.
func together(failures []error) error {
	if len(failures) == 0 {
		return nil
	}
	return &failedError{errors.Join(failures...)}
}

func printQueues(p *show.Printer, queues []*leadsmanv1.Queue) error {
	if p.IsData() {
		trees, err := show.Messages(queues)
		if err != nil {
			return err
		}
		return p.Data(map[string]any{fieldQueues: trees})
	}
	if err := p.Table(queueTable(queues, time.Now())); err != nil {
		return err
	}
	told := map[string]bool{}
	for _, q := range queues {
		if reason := q.GetStaleReason(); reason != "" && !told[q.GetSource()] {
			told[q.GetSource()] = true
			if err := p.Linef("%s: this is how it was %s ago: %s",
				show.Text(q.GetSource()), ago(q.GetSampledAt(), time.Now()), show.Text(reason)); err != nil {
				return err
			}
		}
	}
	return nil
}

func queueTable(queues []*leadsmanv1.Queue, now time.Time) *show.Table {
	table := &show.Table{Columns: []show.Column{
		{Name: "SOURCE"},
		{Name: "QUEUE"},
		{Name: "READY", Right: true},
		{Name: "RUNNING", Right: true},
		{Name: "SCHEDULED", Right: true},
		{Name: "OLDEST", Right: true},
		{Name: "NEXT", Right: true},
		{Name: "WORKERS", Right: true, Wide: true},
		{Name: "CAPACITY", Right: true, Wide: true},
		{Name: "AGE", Right: true, Wide: true},
		{Name: "STATE"},
	}}
	for _, q := range queues {
		oldest, next := "", ""
		if q.GetOldest() != nil {
			oldest = show.Age(q.GetOldest().AsDuration())
		}
		if q.GetNextDue() != nil {
			next = show.Age(q.GetNextDue().AsDuration())
		}
		workers, capacity := "", ""
		if q.Workers != nil {
			workers, capacity = show.Count(q.GetWorkers()), show.Count(q.GetCapacity())
		}
		cells := show.Cells(q.GetSource(), q.GetName(), counted(q, q.GetReady()), counted(q, q.GetRunning()), counted(q, q.GetScheduled()),
			oldest, next, workers, capacity, ago(q.GetSampledAt(), now))
		table.Add(append(cells, queueState(q))...)
	}
	return table
}

// counted shows a count. Which of a queue's counts stopped at the limit is not known; those that are 0 did not.
func counted(q *leadsmanv1.Queue, n int64) string {
	if q.GetSaturated() && n > 0 {
		return show.Count(n) + "+"
	}
	return show.Count(n)
}

// queueState says in words what matters most about a queue.
func queueState(q *leadsmanv1.Queue) show.Cell {
	state := show.Cell{Text: "idle", Style: show.Dim}
	switch {
	case !q.GetKnown():
		state = show.Cell{Text: "unknown", Style: show.Warn}
	case q.GetPaused():
		state = show.Cell{Text: "paused", Style: show.Warn}
	case q.GetReady()+q.GetRunning() > 0:
		state = show.Cell{Text: "active", Style: show.Good}
	}
	if q.GetStaleReason() != "" {
		state = show.Cell{Text: state.Text + ", stale", Style: show.Bad}
	}
	return state
}

// exact shows a count with all its digits.
func exact(q *leadsmanv1.Queue, n int64) string {
	if q.GetSaturated() && n > 0 {
		return fmt.Sprintf("%d or more", n)
	}
	return fmt.Sprintf("%d", n)
}
