package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// nearNames are the queues that were come upon while looking for one that is not known. It is for people: a prefix or
// a name that is wrong reads as an empty queue for ever.
type nearNames struct {
	mu     sync.Mutex
	looked time.Time
	cursor uint64 // where the next look goes on
	names  []string
}

const (
	lookEach  = time.Minute
	lookPages = 10
	lookPage  = 1000
	lookNames = 20 // shown at most
)

// notes says which queues there are when wanted ones are not, looking for them once a minute, and each time in no
// more than ten thousand keys.
func (n *nearNames) notes(ctx context.Context, e *Engine, s *session, p *plan) []string {
	unknown := p.unknown()
	find := e.cfg.Redis.Near
	if len(unknown) == 0 || find == nil || s.kind == cluster {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !p.req.Activity && time.Since(n.looked) > lookEach {
		n.looked = time.Now()
		match, name := find(&e.options)
		if err := n.look(ctx, s, match, name); err != nil {
			s.refused.add("SCAN", "it cannot be said which queues there are instead of one that is not known")
		}
	}
	note := fmt.Sprintf("no trace of %s under the prefix %q", quoted(unknown), e.options.Prefix)
	if len(n.names) > 0 {
		note += "; there is " + quoted(n.names)
	}
	return []string{note}
}

// look scans some more keys.
func (n *nearNames) look(ctx context.Context, s *session, match string, name func(string) (string, bool)) error {
	for range lookPages {
		command := s.client.B().Scan().Cursor(n.cursor).Match(match).Count(lookPage).Build()
		page, err := s.client.Do(ctx, command).AsScanEntry()
		if err != nil {
			return err
		}
		for _, key := range page.Elements {
			if queue, ok := name(key); ok && !slices.Contains(n.names, queue) && len(n.names) < lookNames {
				n.names = append(n.names, queue)
			}
		}
		if n.cursor = page.Cursor; n.cursor == 0 {
			break
		}
	}
	slices.Sort(n.names)
	return nil
}

func quoted(names []string) string {
	const most = 5
	var out []string
	for _, name := range names[:min(most, len(names))] {
		out = append(out, fmt.Sprintf("%q", name))
	}
	if len(names) > most {
		out = append(out, fmt.Sprintf("%d more", len(names)-most))
	}
	return strings.Join(out, ", ")
}

var _ driver.Reader = (*Engine)(nil)
