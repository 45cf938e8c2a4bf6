// Command bench measures leadsman, and beside each figure its limit: what the barest program with the same duty
// does on the same machine in the same minute. Such a program is a grpc-go server with constant answers, a LISTEN
// with a stream behind it, one prepared statement. A figure without its limit says more about the machine than
// about leadsman, so nothing absolute is asserted here: a figure that falls short is printed as it is, and the exit
// code is 1 only if something could not be measured.
//
// Each server is a process of its own: leadsman is the built binary, and the bare server is this program again
// (bare.go), so that this process is the client alone. PostgreSQL and Redis are throwaway servers. Where noise matters, ours
// and the limit are measured in turns. Each figure has a file of its own; figure.go lists them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if len(os.Args) > 1 && os.Args[1] == bareCommand {
		err = bare(ctx, os.Args[2:])
	} else {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	leadsman string         // the binary under test
	markdown string         // file for the table as Markdown; "" for none
	quick    bool           // a smoke test: few rounds, short windows, small tables
	only     *regexp.Regexp // figures to measure, by name
}

func parse(args []string, usage io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.StringVar(&o.leadsman, "leadsman", "bin/leadsman", "the binary to measure")
	flags.StringVar(&o.markdown, "markdown", "", "write the table to this file too, as Markdown")
	flags.BoolVar(&o.quick, "quick", false, "see that everything works, in less than a minute; the figures mean little")
	only := flags.String("run", "", "measure only the figures whose name matches this regular expression")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return o, fmt.Errorf("-run: %w", err)
	}
	if o.leadsman, err = filepath.Abs(o.leadsman); err != nil {
		return o, err
	}
	if _, err := os.Stat(o.leadsman); err != nil {
		return o, fmt.Errorf("-leadsman: %w; build it with: make build", err)
	}
	return o, nil
}

// run measures the figures and prints the table. The error says what could not be measured.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parse(args, progress)
	if err != nil {
		return err
	}
	root := newBed(ctx, &o)
	defer root.clean()
	var rep report
	var failed error
	if err := root.attempt(func() { rep.head = describe(root, args) }); err != nil {
		return err
	}
	for _, f := range figures {
		if !o.only.MatchString(f.name) {
			continue
		}
		fmt.Fprintf(progress, "measuring %-12s", f.name)
		start := time.Now()
		rows, err := measure(root, f)
		fmt.Fprintf(progress, "%4.0f s\n", time.Since(start).Seconds())
		if err != nil {
			rep.failed = append(rep.failed, fmt.Sprintf("%s could not be measured: %v", f.name, err))
			failed = errors.New("not everything could be measured")
		}
		rep.rows = append(rep.rows, rows...)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	fmt.Fprint(out, rep.text())
	if o.markdown != "" {
		if err := os.WriteFile(o.markdown, []byte(rep.markdown()), 0o644); err != nil {
			return err
		}
	}
	return failed
}

// measure measures one figure in a bed of its own, so that what it started is gone before the next.
func measure(root *bed, f figure) (rows []row, err error) {
	b := root.sub()
	defer b.clean()
	err = b.attempt(func() { rows = f.measure(b) })
	return rows, err
}
