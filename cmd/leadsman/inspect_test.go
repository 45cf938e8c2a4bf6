package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/leadsman/leadsman/internal/show"
	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
)

func TestServerAddress(t *testing.T) {
	for text, want := range map[string]string{
		"h:1": "h:1", "leadsman.leadsman.svc": "leadsman.leadsman.svc:50051", "127.0.0.1": "127.0.0.1:50051", "::1": "[::1]:50051",
		"[::1]": "[::1]:50051", "[::1]:7": "[::1]:7", ":7": "localhost:7",
		"http://h": "", "a:b:c": "", "dns:///h:1": "", "[x": "",
	} {
		got, err := serverAddress(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// printed is what a function writes as a table.
func printed(t *testing.T, write func(*show.Printer) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(show.New(&out, show.FormatTable, noEnv)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestSourcesSayWhatIsWrongBelowTheTable(t *testing.T) {
	got := printed(t, func(p *show.Printer) error {
		return printSources(p, []*leadsmanv1.Source{
			{
				Name: "mail", Engine: "postgres", Preset: "river", State: leadsmanv1.Source_STATE_FAILING, PushMode: "edge poll",
				PushReason: "the pooler does not pass notifications", SampleAge: durationpb.New(72 * time.Second), Streams: 4, StreamsWaiting: 1,
				QueuesWanted: 12345, Conditions: []*leadsmanv1.Condition{
					{Type: "Readable", Message: "permission denied for table river_job"},
					{Type: "Pushed", Message: "edge poll: the pooler does not pass notifications"},
					{Type: "Note", Status: true, Message: "river's schema 7"},
				},
			},
			{Name: "idle", Engine: "redis", Preset: "sidekiq", State: leadsmanv1.Source_STATE_IDLE, Conditions: []*leadsmanv1.Condition{
				{Type: "Readable", Message: "not read yet: nobody has asked"},
			}},
		})
	})
	want := `NAME   ENGINE     PRESET    STATE     PUSH          AGE   QUEUES   STREAMS
mail   postgres   river     failing   edge poll   1m12s    12.3k       1/4
idle   redis      sidekiq   idle      -               -        0       0/0
mail: cannot be read: permission denied for table river_job
mail: edge poll: the pooler does not pass notifications
mail: river's schema 7
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestQueuesShowWhatIsUncertain(t *testing.T) {
	workers, capacity := int64(3), int64(60)
	at := timestamppb.New(time.Now().Add(-12*time.Second - 500*time.Millisecond))
	queues := []*leadsmanv1.Queue{
		{Source: "a", Name: "big", Known: true, Ready: 100_000, Saturated: true, SampledAt: at, StaleReason: "connection refused", Workers: &workers, Capacity: &capacity},
		{Source: "a", Name: "held", Known: true, Paused: true, Scheduled: 2, NextDue: durationpb.New(time.Minute), SampledAt: at, StaleReason: "connection refused"},
	}
	got := printed(t, func(p *show.Printer) error { return printQueues(p, queues) })
	want := `SOURCE   QUEUE   READY   RUNNING   SCHEDULED   OLDEST   NEXT   STATE
a        big     100k+         0           0        -      -   active, stale
a        held        0         0           2        -     1m   paused, stale
a: this is how it was 12s ago: connection refused
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	one := printed(t, func(p *show.Printer) error {
		return printFields(p, "", queueFields(&leadsmanv1.GetQueueResponse{Queue: queues[0]}, time.Now()))
	})
	for _, line := range []string{"ready       100000 or more", "workers     3, which can run 60 jobs at once", "stale       connection refused"} {
		if !strings.Contains(one, line+"\n") {
			t.Errorf("%q is missing in\n%s", line, one)
		}
	}
}

func TestTriggersShowErrorsBelowTheTable(t *testing.T) {
	now := time.Now()
	value, active := 41.0, true
	got := printed(t, func(p *show.Printer) error {
		return printTriggers(p, []*leadsmanv1.Trigger{
			{
				Namespace: "team", Object: "mailer", Query: &leadsmanv1.Query{Source: "a", Metric: "ready", Target: 10},
				Value: &value, Active: &active, Streams: 1, Wakes: 2, WokenAt: timestamppb.New(now.Add(-time.Minute)), AskedAt: timestamppb.New(now),
			},
			{
				Namespace: "team", Object: "other\x1b[2J", Query: &leadsmanv1.Query{Source: "a", Queues: []string{"x", "y*"}, Metric: "oldest", Target: 0.5},
				AskedAt: timestamppb.New(now.Add(-3 * time.Hour)), Error: "source a: connection refused",
			},
		}, now)
	})
	want := `NAMESPACE   OBJECT         SOURCE   QUEUES   METRIC   VALUE   TARGET   WANTS   ACTIVE   STREAMS   WAKES   WOKEN   ASKED
team        mailer         a        all      ready       41       10       5   yes            1       2      1m      0s
team        other\x1b[2J   a        x,y*     oldest       -      0.5       -   -              0       0       -      3h
team/other\x1b[2J: source a: connection refused
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
