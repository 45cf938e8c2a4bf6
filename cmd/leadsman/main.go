// Command leadsman sounds job queues for KEDA. Each subcommand is in a file of its own; wire.go makes sources of the
// configuration, registry.go names the engines and presets there are.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitFailed = 1 // the work failed
	exitUsage  = 2 // the command line or the configuration is at fault
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx)
	stop()
	os.Exit(code)
}

func run(ctx context.Context) int {
	err := newRootCommand().ExecuteContext(ctx) //nolint:contextcheck // the commands get it from cobra
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "leadsman:", err)
	if _, ok := errors.AsType[*failedError](err); ok {
		return exitFailed
	}
	return exitUsage
}

// A failedError is work that failed although it was asked for properly. What a command returns otherwise is a fault
// of the command line or the configuration.
type failedError struct{ error }

func (e *failedError) Unwrap() error { return e.error }

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "leadsman",
		Short:         "Tells KEDA how deep job queues are, the moment a job lands",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newServeCommand(), newInspectCommand(), newExplainCommand(), newDoctorCommand(), newEnqueueCommand(), newWorkCommand(),
		newTokenCommand(), newTriggerSQLCommand(), newManifestCommand(), newVersionCommand())
	return root
}
