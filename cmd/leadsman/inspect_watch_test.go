package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/leadsman/leadsman/internal/show"
	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

func noEnv(string) string { return "" }

// queueAt is a queue as it was read at a time.
func queueAt(at time.Time, source, name string, ready int64) *leadsmanv1.Queue {
	q := &leadsmanv1.Queue{Source: source, Name: name, Known: true, Ready: ready, SampledAt: timestamppb.New(at)}
	if ready > 0 {
		q.Oldest = durationpb.New(10 * time.Second)
	}
	return q
}

// drawn is what a screen shows once a terminal has done what it is told.
func drawn(text string) string {
	_, text, _ = strings.Cut(text, screenHome)
	return strings.NewReplacer(screenEnd, "", screenRest, "", "\r\n", "\n").Replace(text)
}

func TestScreenDrawsTheTableOverItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the clock stands
		var out bytes.Buffer
		s := &screen{printer: show.New(&out, show.FormatTable, noEnv), out: &out, title: "server:50051", height: func() int { return 24 }}
		now := time.Now()
		if err := s.show(&snapshot{queues: []*leadsmanv1.Queue{queueAt(now, "a", "mail", 3)}}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), screenOpen+screenHome) {
			t.Errorf("the first draw opens no screen: %q", out.String())
		}
		out.Reset()
		time.Sleep(5 * time.Second) // meanwhile ages grow
		if err := s.show(&snapshot{queues: []*leadsmanv1.Queue{queueAt(now, "a", "mail", 3)}, problems: []string{"source b: down"}}); err != nil {
			t.Fatal(err)
		}
		want := `server:50051   00:00:05Z   interrupt to stop
source b: down
SOURCE   QUEUE   READY   RUNNING   SCHEDULED   OLDEST   NEXT   STATE
a        mail        3         0           0      15s      -   active
`
		if diff := cmp.Diff(want, drawn(out.String())); diff != "" {
			t.Errorf("the second draw (-want +got):\n%s", diff)
		}
		out.Reset()
		if err := s.close(); err != nil || out.String() != screenClose {
			t.Errorf("closed with %q, %v", out.String(), err)
		}
	})
}

func TestScreenFitsTheTerminal(t *testing.T) {
	var out bytes.Buffer
	s := &screen{printer: show.New(&out, show.FormatTable, noEnv), out: &out, height: func() int { return 6 }}
	now := &snapshot{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		now.queues = append(now.queues, queueAt(time.Now(), "s", name, 1))
	}
	if err := s.show(now); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(drawn(out.String()), "\n"), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[4], "and 3 more") || !strings.Contains(lines[3], " b ") {
		t.Errorf("six lines show\n%s", strings.Join(lines, "\n"))
	}
}

func TestAClosedScreenThatNeverOpenedWritesNothing(t *testing.T) {
	var out bytes.Buffer
	if err := (&screen{out: &out}).close(); err != nil || out.Len() > 0 {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestChangeLogTellsOfChangesOnly(t *testing.T) {
	var out, problems bytes.Buffer
	l := &changeLog{printer: show.New(&out, show.FormatTable, noEnv), problems: &problems}
	at := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	stale := queueAt(at, "s", "b", 2)
	stale.StaleReason = "down for 3s"
	staler := queueAt(at, "s", "b", 2)
	staler.StaleReason = "down for 4s"
	for i, step := range []struct {
		now            snapshot
		told, problems string
	}{
		{
			now:  snapshot{queues: []*leadsmanv1.Queue{queueAt(at, "s", "a", 1), queueAt(at, "s", "b", 0)}},
			told: "2027-01-02T03:04:05Z s/a ready=1 running=0 scheduled=0 oldest=10s active\n2027-01-02T03:04:05Z s/b ready=0 running=0 scheduled=0 idle\n",
		},
		{now: snapshot{queues: []*leadsmanv1.Queue{queueAt(at.Add(time.Second), "s", "a", 1), queueAt(at.Add(time.Second), "s", "b", 0)}}},
		{
			now:      snapshot{queues: []*leadsmanv1.Queue{queueAt(at, "s", "a", 1), stale}, problems: []string{"t: down\x1b[2J"}},
			told:     "2027-01-02T03:04:05Z s/b ready=2 running=0 scheduled=0 oldest=10s active, stale\n",
			problems: "leadsman: t: down\\x1b[2J\n",
		},
		{now: snapshot{queues: []*leadsmanv1.Queue{queueAt(at, "s", "a", 1), staler}, problems: []string{"t: down\x1b[2J"}}},
		{
			now:      snapshot{queues: []*leadsmanv1.Queue{queueAt(at, "s", "a", 1)}},
			told:     "2027-01-02T03:04:05Z s/b ready=0 running=0 scheduled=0 unknown\n",
			problems: "leadsman: all is read again\n",
		},
	} {
		out.Reset()
		problems.Reset()
		if err := l.show(&step.now); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{step.told, step.problems}, []string{out.String(), problems.String()}); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}
