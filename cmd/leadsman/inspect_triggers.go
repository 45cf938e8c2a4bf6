package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/leadsman/leadsman/internal/show"
	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

func newInspectTriggersCommand(o *inspectOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "triggers",
		Short: "List what KEDA has asked since the server started, and what it was told",
		Long: `List what KEDA has asked since the server started, and what it was told.

VALUE and ACTIVE are the last answers; WANTS is VALUE divided by TARGET, rounded up: what the HPA makes of it before the
object's bounds. STREAMS are open StreamIsActive streams, WOKEN is when one of them last carried a true. With several
replicas of the server, each knows the calls that came to it. Errors of the last call are below the table.`,
		Example: `  leadsman inspect triggers
  leadsman inspect triggers -o wide
  leadsman inspect triggers -o json | jq '.triggers[] | select(.error != "")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.look(cmd, func(ctx context.Context, c *client, p *show.Printer) error {
				triggers, err := c.allTriggers(ctx)
				if err != nil {
					return err
				}
				return printTriggers(p, triggers, time.Now())
			})
		},
	}
}

func (c *client) allTriggers(ctx context.Context) ([]*leadsmanv1.Trigger, error) {
	var all []*leadsmanv1.Trigger
	for token := ""; ; {
		page, err := ask(ctx, c, c.inspector.ListTriggers, &leadsmanv1.ListTriggersRequest{PageSize: pageSize, PageToken: token})
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetTriggers()...)
		if token = page.GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}

func printTriggers(p *show.Printer, triggers []*leadsmanv1.Trigger, now time.Time) error {
	if p.IsData() {
		trees, err := show.Messages(triggers)
		if err != nil {
			return err
		}
		return p.Data(map[string]any{"triggers": trees})
	}
	table := &show.Table{Columns: []show.Column{
		{Name: "NAMESPACE"},
		{Name: "OBJECT"},
		{Name: "SOURCE"},
		{Name: "QUEUES"},
		{Name: "METRIC"},
		{Name: "VALUE", Right: true},
		{Name: "TARGET", Right: true},
		{Name: "WANTS", Right: true},
		{Name: "ACTIVE"},
		{Name: "STREAMS", Right: true},
		{Name: "WAKES", Right: true},
		{Name: "WOKEN", Right: true},
		{Name: "TOOK", Right: true, Wide: true},
		{Name: "ASKED", Right: true},
		{Name: "ACTIVATION", Right: true, Wide: true},
		{Name: "METRIC NAME", Wide: true},
	}}
	for _, t := range triggers {
		table.Add(triggerRow(t, now)...)
	}
	if err := p.Table(table); err != nil {
		return err
	}
	for _, t := range triggers {
		if t.GetError() == "" {
			continue
		}
		name := show.Text(t.GetNamespace() + "/" + t.GetObject())
		if err := p.Linef("%s: %s", name, p.Paint(show.Bad, show.Text(t.GetError()))); err != nil {
			return err
		}
	}
	return nil
}

func triggerRow(t *leadsmanv1.Trigger, now time.Time) []show.Cell {
	q := t.GetQuery()
	value, wants, took := "", "", ""
	if t.Value != nil {
		value = show.Number(t.GetValue())
		wants = show.Number(math.Ceil(t.GetValue() / q.GetTarget()))
	}
	if t.GetWakeTook() != nil {
		took = show.Age(t.GetWakeTook().AsDuration())
	}
	active := show.Cell{}
	if t.Active != nil {
		active = yesNo(t.GetActive())
	}
	cells := show.Cells(t.GetNamespace(), t.GetObject(), q.GetSource(), queuesOf(q), q.GetMetric(),
		value, show.Number(q.GetTarget()), wants)
	cells = append(cells, active)
	return append(cells, show.Cells(fmt.Sprintf("%d", t.GetStreams()), show.Count(t.GetWakes()), ago(t.GetWokenAt(), now), took,
		ago(t.GetAskedAt(), now), show.Number(q.GetActivation()), q.GetMetricName())...)
}

// queuesOf are the queues of a query, as people write them.
func queuesOf(q *leadsmanv1.Query) string {
	if len(q.GetQueues()) == 0 {
		return "all"
	}
	return strings.Join(q.GetQueues(), ",")
}

func yesNo(is bool) show.Cell {
	if is {
		return show.Cell{Text: "yes", Style: show.Good}
	}
	return show.Cell{Text: "no", Style: show.Dim}
}
