package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/leadsman/leadsman/internal/show"
	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

func newInspectSourcesCommand(o *inspectOptions) *cobra.Command {
	return &cobra.Command{
		Use:   fieldSources,
		Short: "List the configured sources: are they read, and how are changes noticed?",
		Long: `List the configured sources: are they read, and how are changes noticed?

PUSH is the way in force in which the server notices a change; below the table is why it is not a better one, what
cannot be read, and what a preset found worth a note. AGE is how old the newest sample is: a source that nobody asks
about is not read. STREAMS are KEDA's open StreamIsActive streams; those that wait for a job come first.`,
		Example: `  leadsman inspect sources
  leadsman inspect sources -o wide
  leadsman inspect sources -o json | jq -r '.sources[] | select(.state == "STATE_FAILING").name'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.look(cmd, func(ctx context.Context, c *client, p *show.Printer) error {
				list, err := ask(ctx, c, c.inspector.ListSources, &leadsmanv1.ListSourcesRequest{})
				if err != nil {
					return err
				}
				return printSources(p, list.GetSources())
			})
		},
	}
}

func printSources(p *show.Printer, sources []*leadsmanv1.Source) error {
	if p.IsData() {
		trees, err := show.Messages(sources)
		if err != nil {
			return err
		}
		return p.Data(map[string]any{fieldSources: trees})
	}
	table := &show.Table{Columns: []show.Column{
		{Name: "NAME"},
		{Name: "ENGINE"},
		{Name: "PRESET"},
		{Name: "STATE"},
		{Name: "PUSH"},
		{Name: "AGE", Right: true},
		{Name: "TOOK", Right: true, Wide: true},
		{Name: "READS", Right: true, Wide: true},
		{Name: "FAILED", Right: true, Wide: true},
		{Name: "QUEUES", Right: true},
		{Name: "STREAMS", Right: true},
		{Name: "LOCATION", Wide: true},
	}}
	for _, s := range sources {
		table.Add(sourceRow(s)...)
	}
	if err := p.Table(table); err != nil {
		return err
	}
	for _, s := range sources {
		for _, remark := range sourceRemarks(s) {
			if err := p.Linef("%s: %s", show.Text(s.GetName()), show.Text(remark)); err != nil {
				return err
			}
		}
	}
	return nil
}

func sourceRow(s *leadsmanv1.Source) []show.Cell {
	state := show.Cell{Text: stateName(s.GetState())}
	switch s.GetState() {
	case leadsmanv1.Source_STATE_READY:
		state.Style = show.Good
	case leadsmanv1.Source_STATE_FAILING:
		state.Style = show.Bad
	default:
		state.Style = show.Dim
	}
	age, took := "", ""
	if s.GetSampleAge() != nil {
		age, took = show.Age(s.GetSampleAge().AsDuration()), show.Age(s.GetSampleTook().AsDuration())
	}
	cells := show.Cells(s.GetName(), s.GetEngine(), s.GetPreset(), "", s.GetPushMode(), age, took,
		show.Count(s.GetReads()), show.Count(s.GetFailures()), show.Count(int64(s.GetQueuesWanted())),
		fmt.Sprintf("%d/%d", s.GetStreamsWaiting(), s.GetStreams()), s.GetLocation())
	cells[3] = state
	return cells
}

// stateName is a state as people read it.
func stateName(state leadsmanv1.Source_State) string {
	return strings.ToLower(strings.TrimPrefix(state.String(), "STATE_"))
}

// sourceRemarks are what the table has no room for.
func sourceRemarks(s *leadsmanv1.Source) []string {
	var remarks []string
	for _, condition := range s.GetConditions() {
		switch {
		case condition.GetType() == "Readable" && s.GetState() == leadsmanv1.Source_STATE_FAILING:
			remarks = append(remarks, "cannot be read: "+condition.GetMessage())
		case condition.GetType() == "Pushed" && s.GetPushReason() != "":
			remarks = append(remarks, condition.GetMessage()) // the mode and the reason
		case condition.GetType() == "Note":
			remarks = append(remarks, condition.GetMessage())
		}
	}
	return remarks
}
