package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/leadsman/leadsman/internal/show"
	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

func newInspectWatchCommand(o *inspectOptions) *cobra.Command {
	var interval time.Duration
	cmd := &cobra.Command{
		Use:   "watch [SOURCE [QUEUE]]",
		Short: "Watch queues until interrupted",
		Long: `Watch queues until interrupted: all of them, those of a source, or one.

On a terminal the table is drawn anew; otherwise, and with -o json or -o yaml, a line (an object, a document) tells of
each queue that has changed. One queue is pushed by the server the moment it changes; several are asked for once per
--interval. What cannot be read now, the server itself after its first answer included, is said and tried again. The
token of --token-file and the certificates are read again when they are used: a watch goes on over their rotation, and ends
with exit code 1 when the token is revoked and the file holds no other. Watching a source has the server read it, as a
trigger of KEDA's would.`,
		Example: `  leadsman inspect watch
  leadsman inspect watch mail mail-out
  leadsman inspect watch mail -o json | jq --unbuffered -r 'select(.ready > 1000) | .name'`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: o.completeNames(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if interval < minInterval {
				return fmt.Errorf("--interval: give a duration of %s or more", minInterval)
			}
			return o.look(cmd, func(ctx context.Context, c *client, p *show.Printer) error {
				w := &watcher{client: c, args: args, interval: interval, last: map[string][]*leadsmanv1.Queue{}}
				w.display = &changeLog{printer: p, problems: cmd.ErrOrStderr()}
				if out := cmd.OutOrStdout(); !p.IsData() && show.IsTerminal(out, os.Getenv) {
					w.display = &screen{printer: p, out: out, title: c.server, height: func() int { return show.Height(out) }}
				}
				return w.run(ctx)
			})
		},
	}
	cmd.Flags().DurationVar(&interval, "interval", time.Second, "how often several queues are asked for")
	return cmd
}

const minInterval = 100 * time.Millisecond

// A snapshot is what a watch sees at one time.
type snapshot struct {
	queues   []*leadsmanv1.Queue // by source and name; as they were last read
	problems []string            // what cannot be read now, and why
}

// A display shows snapshots as they come.
type display interface {
	show(s *snapshot) error
	// close leaves the output as it should be left.
	close() error
}

// A watcher reads what it is to watch, again and again.
type watcher struct {
	client   *client
	args     []string // SOURCE and QUEUE, as far as given
	interval time.Duration
	display  display
	last     map[string][]*leadsmanv1.Queue // by source, as last read
	seen     bool                           // the server has answered
}

// run watches until ctx is done, or there is no sense in trying again.
func (w *watcher) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, w.display.close()) }()
	look := w.poll
	if len(w.args) == 2 {
		look = w.follow
	}
	tick := time.NewTicker(w.interval)
	defer tick.Stop()
	for {
		err := look(ctx)
		switch {
		case ctx.Err() != nil:
			return nil // being interrupted is how a watch ends
		case err == nil:
		case !w.again(err):
			return err
		default:
			if err := w.tell([]string{err.Error()}); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// again tells whether it makes sense to try again after an error. A server that never answered may not be there at
// all; one that did is waited for. A token that is no longer accepted ends a watch, unless there is another one by now.
func (w *watcher) again(err error) bool {
	call, ok := errors.AsType[*callError](err)
	if !ok {
		return false
	}
	switch call.code {
	case codes.Unavailable:
		return !call.lost || w.seen
	case codes.DeadlineExceeded:
		return w.seen
	case codes.Unauthenticated, codes.PermissionDenied:
		return w.seen && w.client.bearer.rotated()
	default:
		return false
	}
}

// poll reads the queues of all sources, or of one, once. A source that cannot be read keeps its last queues.
func (w *watcher) poll(ctx context.Context) error {
	sources, err := w.client.sourceNames(ctx, w.args)
	if err != nil {
		return err
	}
	var problems []string
	read := map[string][]*leadsmanv1.Queue{}
	for _, source := range sources {
		queues, err := w.client.allQueues(ctx, source)
		if err != nil {
			if call, ok := errors.AsType[*callError](err); !ok || call.lost || call.code != codes.Unavailable {
				return err
			}
			problems = append(problems, err.Error())
			queues = w.last[source]
		}
		read[source] = queues
	}
	w.seen, w.last = true, read
	return w.tell(problems)
}

// follow shows one queue as the server pushes it, until the stream ends: the server stops, or another error.
func (w *watcher) follow(ctx context.Context) error {
	var reading sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		reading.Wait()
	}()
	stream, err := w.client.inspector.WatchQueue(ctx, &leadsmanv1.WatchQueueRequest{Source: w.args[0], Queue: w.args[1]})
	if err != nil {
		return w.client.advise(err)
	}
	pushed := make(chan *leadsmanv1.WatchQueueResponse)
	ended := make(chan error, 1)
	reading.Go(func() { ended <- receive(ctx, stream, pushed) })
	redraw := time.NewTicker(time.Second) // ages grow
	defer redraw.Stop()
	var problems []string
	for {
		select {
		case message := <-pushed:
			w.seen, problems = true, nil
			if message.GetQueue() != nil {
				w.last[w.args[0]] = []*leadsmanv1.Queue{message.GetQueue()}
			} else {
				problems = []string{message.GetError()}
			}
		case err := <-ended:
			if errors.Is(err, io.EOF) {
				return w.tell([]string{"the server has ended the stream, as it does when it stops; trying again"})
			}
			return w.client.advise(err)
		case <-redraw.C:
		}
		if err := w.tell(problems); err != nil {
			return err
		}
	}
}

// receive hands on what a stream sends until it ends, as it does with ctx.
func receive(
	ctx context.Context, stream grpc.ServerStreamingClient[leadsmanv1.WatchQueueResponse], to chan<- *leadsmanv1.WatchQueueResponse,
) error {
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		select {
		case to <- message:
		case <-ctx.Done():
		}
	}
}

// tell shows what is known now.
func (w *watcher) tell(problems []string) error {
	s := &snapshot{problems: problems}
	for _, queues := range w.last {
		s.queues = append(s.queues, queues...)
	}
	slices.SortFunc(s.queues, compareQueues)
	return w.display.show(s)
}
