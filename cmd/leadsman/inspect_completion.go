package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/leadsman/leadsman/internal/show"
	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

// completionTimeout bounds how long a shell hangs at a tab.
const completionTimeout = time.Second

// completeNames completes SOURCE and, where queues is set, QUEUE with what the server has. Where the server cannot be
// asked there is nothing to offer, and nothing to say: the shell would show it in the middle of a command.
func (o *inspectOptions) completeNames(queues bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		most := 1
		if queues {
			most = 2
		}
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx := cmd.Context()
		if ctx == nil {
			ctx = context.Background()
		}
		ctx, cancel := context.WithTimeout(ctx, completionTimeout)
		defer cancel()
		names, err := o.names(ctx, args)
		if err != nil {
			cobra.CompDebugln(err.Error(), false)
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// names asks for the sources or, after one, for its queues.
func (o *inspectOptions) names(ctx context.Context, args []string) ([]cobra.Completion, error) {
	if err := o.complete(os.Getenv); err != nil {
		return nil, err
	}
	c, err := o.dial()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var names []cobra.Completion
	if len(args) == 0 {
		list, err := ask(ctx, c, c.inspector.ListSources, &leadsmanv1.ListSourcesRequest{})
		for _, s := range list.GetSources() {
			names = append(names, cobra.CompletionWithDesc(s.GetName(), s.GetPreset()+" on "+s.GetEngine()+", "+stateName(s.GetState())))
		}
		return names, err
	}
	list, err := ask(ctx, c, c.inspector.ListQueues, &leadsmanv1.ListQueuesRequest{Source: args[0], PageSize: pageSize})
	for _, q := range list.GetQueues() {
		if show.Text(q.GetName()) == q.GetName() { // any other would break the shell's list
			names = append(names, cobra.CompletionWithDesc(q.GetName(), fmt.Sprintf("%d ready, %d running", q.GetReady(), q.GetRunning())))
		}
	}
	return names, err
}
