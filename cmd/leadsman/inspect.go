package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/leadsman/leadsman/internal/show"
	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

// inspectOptions are those of every command that looks into a server.
type inspectOptions struct {
	clientOptions

	output string
}

// newInspectCommand makes "leadsman inspect", whose commands show what a running server knows.
func newInspectCommand() *cobra.Command {
	var o inspectOptions
	cmd := &cobra.Command{
		Use:   "inspect",
		Short: "Look into a running server: its sources, queues and triggers",
		Long: `Look into a running server: its sources, queues and triggers.

The server is asked over gRPC, as KEDA asks it. Where it wants a token, the token needs the scope inspect and comes from
LEADSMAN_TOKEN or --token-file; what is shown is what that token, or client certificate, is granted.

Tables round (12.3k jobs, 3m20s) and may change; -o json and -o yaml are exact, and for programs. Times are in UTC.`,
		Example: `  # The server of this machine
  leadsman inspect sources
  leadsman inspect queues

  # One in a cluster, through a forwarded port
  kubectl -n leadsman port-forward service/leadsman 50051 &
  export LEADSMAN_TOKEN=$(kubectl -n leadsman get secret ops-token -o jsonpath='{.data.token}' | base64 -d)
  leadsman inspect triggers

  # One that speaks TLS
  leadsman inspect sources --server leadsman.example:50051 --ca-file ca.crt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var names []string
			for _, sub := range cmd.Commands() {
				names = append(names, sub.Name())
			}
			return fmt.Errorf("unknown command %q for %q; %s", args[0], cmd.CommandPath(), meant(args[0], names))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	o.forInspection(cmd, cmd.PersistentFlags())
	cmd.AddCommand(newInspectSourcesCommand(&o), newInspectQueuesCommand(&o), newInspectQueueCommand(&o),
		newInspectTriggersCommand(&o), newInspectWatchCommand(&o))
	return cmd
}

// forInspection gives a command the flags.
func (o *inspectOptions) forInspection(cmd *cobra.Command, flags *pflag.FlagSet) {
	o.forClients(cmd, flags)
	flags.StringVarP(&o.output, "output", "o", string(show.FormatTable), "table, wide, json or yaml")
	_ = cmd.RegisterFlagCompletionFunc("output", // fails for an unknown flag only
		cobra.FixedCompletions(show.Formats(), cobra.ShellCompDirectiveNoFileComp))
}

// look does a command's work with a connection and a printer.
func (o *inspectOptions) look(cmd *cobra.Command, work func(context.Context, *client, *show.Printer) error) error {
	format, err := show.ParseFormat(o.output)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	if err := o.complete(os.Getenv); err != nil {
		return err
	}
	c, err := o.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if o.exposed() {
		fmt.Fprintf(cmd.ErrOrStderr(),
			"leadsman: warning: the token travels in clear to %s; where that is not within one cluster, use TLS\n", o.server)
	}
	return work(cmd.Context(), c, show.New(cmd.OutOrStdout(), format, os.Getenv))
}

// What is listed is called the same on the command line and in every output.
const (
	fieldSources = "sources"
	fieldQueues  = "queues"
)

// pageSize is the Inspector's greatest.
const pageSize = 1000

// allQueues reads every page of a source's queues. source may be "" where there is one only.
func (c *client) allQueues(ctx context.Context, source string) ([]*leadsmanv1.Queue, error) {
	var all []*leadsmanv1.Queue
	for token := ""; ; {
		page, err := ask(ctx, c, c.inspector.ListQueues,
			&leadsmanv1.ListQueuesRequest{Source: source, PageSize: pageSize, PageToken: token})
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetQueues()...)
		if token = page.GetNextPageToken(); token == "" {
			return all, nil
		}
	}
}

// sourceNames returns the one source that is asked for, or all there are.
func (c *client) sourceNames(ctx context.Context, args []string) ([]string, error) {
	if len(args) > 0 {
		return args[:1], nil
	}
	list, err := ask(ctx, c, c.inspector.ListSources, &leadsmanv1.ListSourcesRequest{})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.GetSources()))
	for i, source := range list.GetSources() {
		names[i] = source.GetName()
	}
	return names, nil
}

// ago shows how long ago a time was; "" for never.
func ago(t *timestamppb.Timestamp, now time.Time) string {
	if !t.IsValid() {
		return ""
	}
	return show.Age(max(now.Sub(t.AsTime()), 0).Truncate(time.Second))
}
