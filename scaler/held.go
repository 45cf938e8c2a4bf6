package scaler

import (
	"context"
	"fmt"
	"slices"

	"github.com/leadsman/leadsman/scaler/internal/sample"
	"github.com/leadsman/leadsman/storage/driver"
)

// What follows is for whoever shows a server all the time, and must not be held up by a source.

// A HeldQueue is a queue as the newest sample of it has it. Shared with others: what it points to must not be changed.
type HeldQueue = sample.Known

// SourceNames returns the names of all sources, in the order of the configuration.
func (s *Server) SourceNames() []string {
	names := make([]string, len(s.order))
	for i, src := range s.order {
		names[i] = src.Name()
	}
	return names
}

// Held returns the queues of a source of which there is a sample that is good for an answer, by name; none of a
// source that does not exist. It reads nothing, counts as no interest in any queue, and does not ask who is told.
func (s *Server) Held(source string) []HeldQueue {
	src, ok := s.sources[source]
	if !ok {
		return nil
	}
	return src.samples.Known()
}

// HeldFor is Held, for somebody of this identity.
func (s *Server) HeldFor(id Identity, source string) []HeldQueue {
	if !id.Source(source) {
		return nil
	}
	return slices.DeleteFunc(s.Held(source), func(q HeldQueue) bool { return !id.Queue(q.Name) })
}

// Refresh asks for all queues of a source, as [Server.Queues] does, so that what is held of them is as fresh as what
// KEDA gets. It returns when it is, or why it cannot be.
func (s *Server) Refresh(ctx context.Context, source string) error {
	src, ok := s.sources[source]
	if !ok {
		return fmt.Errorf("scaler: there is no source %q", source)
	}
	view, err := src.samples.Get(ctx, []driver.Want{{}})
	src.note(ctx, err, view.Err)
	return err // it names the source already
}
