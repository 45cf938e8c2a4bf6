package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/leadsman/leadsman/internal/show"
	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

func newInspectQueueCommand(o *inspectOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "queue SOURCE QUEUE",
		Short: "Show one queue, with nothing rounded",
		Long: `Show one queue, with nothing rounded.

A queue that the source has no trace of is shown as KEDA sees it, empty, with the names of queues that are near.`,
		Example: `  leadsman inspect queue mail mail-out
  leadsman inspect queue mail mail-out -o json | jq .queue.ready`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: o.completeNames(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.look(cmd, func(ctx context.Context, c *client, p *show.Printer) error {
				found, err := ask(ctx, c, c.inspector.GetQueue, &leadsmanv1.GetQueueRequest{Source: args[0], Queue: args[1]})
				if err != nil {
					return err
				}
				if p.IsData() {
					tree, err := show.Message(found)
					if err != nil {
						return err
					}
					return p.Data(tree)
				}
				return printFields(p, "", queueFields(found, time.Now()))
			})
		},
	}
}

// A field is a name and what there is to say of it.
type field struct {
	name  string
	value show.Cell
}

// printFields writes fields below each other, their values aligned, after an indent.
func printFields(p *show.Printer, indent string, fields []field) error {
	width := 0
	for _, f := range fields {
		width = max(width, len(f.name))
	}
	for _, f := range fields {
		if err := p.Linef("%s%-*s   %s", indent, width, f.name, p.Paint(f.value.Style, show.Text(f.value.Text))); err != nil {
			return err
		}
	}
	return nil
}

func queueFields(found *leadsmanv1.GetQueueResponse, now time.Time) []field {
	q := found.GetQueue()
	fields := []field{
		{"source", show.Cell{Text: q.GetSource()}},
		{"queue", show.Cell{Text: q.GetName()}},
		{"state", queueState(q)},
		{"ready", show.Cell{Text: exact(q, q.GetReady())}},
		{"running", show.Cell{Text: exact(q, q.GetRunning())}},
		{"scheduled", show.Cell{Text: exact(q, q.GetScheduled())}},
	}
	add := func(name, format string, args ...any) {
		fields = append(fields, field{name, show.Cell{Text: fmt.Sprintf(format, args...)}})
	}
	if q.GetOldest() != nil {
		add("oldest", "has waited %s", show.Age(q.GetOldest().AsDuration()))
	}
	if q.GetNextDue() != nil {
		add("next", "is due in %s", show.Age(q.GetNextDue().AsDuration()))
	}
	if q.Workers != nil {
		add("workers", "%d, which can run %d jobs at once", q.GetWorkers(), q.GetCapacity())
	}
	if q.GetSampledAt().IsValid() {
		add("sampled", "%s ago, %s", ago(q.GetSampledAt(), now), q.GetSampledAt().AsTime().Format(time.RFC3339))
	}
	if q.GetStaleReason() != "" {
		add("stale", "%s", q.GetStaleReason())
	}
	if !q.GetKnown() {
		hint := "the source has no trace of this queue"
		if near := found.GetNearNames(); len(near) > 0 {
			hint += "; near are " + strings.Join(near, ", ")
		}
		add("hint", "%s", hint)
	}
	return fields
}
