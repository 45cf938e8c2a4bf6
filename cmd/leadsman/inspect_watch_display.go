package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/leadsman/leadsman/internal/show"
	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

// changeLog tells of each change once, for logs and programs. What cannot be read goes where it does not mix with
// that.
type changeLog struct {
	printer  *show.Printer
	problems io.Writer
	last     snapshot
}

func (l *changeLog) show(s *snapshot) error {
	was := map[string]*leadsmanv1.Queue{}
	for _, q := range l.last.queues {
		was[queueKey(q)] = q
	}
	for _, q := range s.queues {
		before := was[queueKey(q)]
		delete(was, queueKey(q))
		if before == nil || !sameQueue(before, q) {
			if err := l.tell(q); err != nil {
				return err
			}
		}
	}
	for _, q := range l.last.queues {
		if was[queueKey(q)] == nil {
			continue
		}
		if err := l.tell(gone(q)); err != nil {
			return err
		}
	}
	for _, problem := range s.problems {
		if !slices.Contains(l.last.problems, problem) {
			fmt.Fprintln(l.problems, "leadsman:", show.Text(problem))
		}
	}
	if len(s.problems) == 0 && len(l.last.problems) > 0 {
		fmt.Fprintln(l.problems, "leadsman: all is read again")
	}
	l.last = *s
	return nil
}

func (l *changeLog) close() error { return nil }

// tell writes one queue.
func (l *changeLog) tell(q *leadsmanv1.Queue) error {
	if l.printer.IsData() {
		tree, err := show.Message(q)
		if err != nil {
			return err
		}
		return l.printer.Record(tree)
	}
	line := fmt.Sprintf("%s %s/%s ready=%s running=%s scheduled=%s",
		q.GetSampledAt().AsTime().Format(time.RFC3339), show.Text(q.GetSource()), show.Text(q.GetName()),
		counted(q, q.GetReady()), counted(q, q.GetRunning()), counted(q, q.GetScheduled()))
	if q.GetOldest() != nil {
		line += " oldest=" + show.Age(q.GetOldest().AsDuration())
	}
	return l.printer.Linef("%s %s", line, queueState(q).Text)
}

// gone is a queue that its source has no trace of any more.
func gone(q *leadsmanv1.Queue) *leadsmanv1.Queue {
	return &leadsmanv1.Queue{Source: q.GetSource(), Name: q.GetName(), SampledAt: q.GetSampledAt()}
}

func queueKey(q *leadsmanv1.Queue) string { return q.GetSource() + "\x00" + q.GetName() }

func compareQueues(a, b *leadsmanv1.Queue) int {
	return cmp.Or(cmp.Compare(a.GetSource(), b.GetSource()), cmp.Compare(a.GetName(), b.GetName()))
}

// sameQueue tells whether nothing has changed but the time.
func sameQueue(a, b *leadsmanv1.Queue) bool {
	still := func(q *leadsmanv1.Queue) *leadsmanv1.Queue {
		q = proto.CloneOf(q)
		q.SampledAt, q.Oldest, q.NextDue = nil, nil, nil
		if q.GetStaleReason() != "" {
			q.StaleReason = "whatever" // it may hold an age
		}
		return q
	}
	return proto.Equal(still(a), still(b))
}

// screen draws a table over itself.
type screen struct {
	printer *show.Printer
	out     io.Writer
	title   string
	height  func() int // of the terminal, in lines; it may change
	open    bool
	last    []*leadsmanv1.Queue
}

// What terminals are told (ECMA-48, and xterm's private modes).
const (
	screenOpen  = "\x1b[?1049h\x1b[?25l\x1b[?7l" // a screen of its own, no cursor, long lines cut
	screenClose = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	screenHome  = "\x1b[H"
	screenEnd   = "\x1b[K" // clear the rest of the line
	screenRest  = "\x1b[J" // clear the rest of the screen
)

func (s *screen) show(now *snapshot) error {
	var draw strings.Builder
	if !s.open {
		s.open = true
		draw.WriteString(screenOpen)
	}
	at := time.Now()
	title := fmt.Sprintf("%s   %s   interrupt to stop", s.title, at.UTC().Format(time.TimeOnly+"Z"))
	lines := make([]string, 0, 1+len(now.problems))
	lines = append(lines, s.printer.Paint(show.Dim, title))
	for _, problem := range now.problems {
		lines = append(lines, s.printer.Paint(show.Bad, show.Text(problem)))
	}
	table := s.printer.Lines(s.table(now, at))
	if room := s.height() - len(lines) - 1; room > 1 && len(table) > room {
		more := len(table) - room + 1
		table = append(table[:room-1], s.printer.Paint(show.Dim, fmt.Sprintf("and %d more; name a source to see fewer", more)))
	}
	draw.WriteString(screenHome)
	for _, line := range append(lines, table...) {
		draw.WriteString(line + screenEnd + "\r\n")
	}
	draw.WriteString(screenRest)
	s.last = now.queues
	_, err := io.WriteString(s.out, draw.String())
	return err
}

func (s *screen) close() error {
	if !s.open {
		return nil
	}
	_, err := io.WriteString(s.out, screenClose)
	return err
}

// table is the table of a snapshot, ages as of now, with the names of queues that have changed in bold.
func (s *screen) table(now *snapshot, at time.Time) *show.Table {
	was := map[string]*leadsmanv1.Queue{}
	for _, q := range s.last {
		was[queueKey(q)] = q
	}
	grown := make([]*leadsmanv1.Queue, len(now.queues))
	for i, q := range now.queues {
		grown[i] = aged(q, at)
	}
	table := queueTable(grown, at)
	for i, q := range now.queues {
		if before := was[queueKey(q)]; before != nil && !sameQueue(before, q) {
			table.Rows[i][1].Style = show.Bold
		}
	}
	return table
}

// aged is a queue as it is if nothing has happened since it was read.
func aged(q *leadsmanv1.Queue, at time.Time) *leadsmanv1.Queue {
	since := max(at.Sub(q.GetSampledAt().AsTime()), 0).Truncate(time.Second)
	q = proto.CloneOf(q)
	if q.GetOldest() != nil {
		q.Oldest = durationpb.New(q.GetOldest().AsDuration() + since)
	}
	if q.GetNextDue() != nil {
		q.NextDue = durationpb.New(max(q.GetNextDue().AsDuration()-since, 0))
	}
	return q
}
