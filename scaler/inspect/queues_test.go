package inspect_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

func TestListQueuesGoesThroughAllPages(t *testing.T) {
	store := memory.New()
	var want []string
	for i := range 250 {
		name := fmt.Sprintf("queue-%03d", i)
		store.Enqueue(name, int64(i%3))
		want = append(want, name)
	}
	b := serve(t, nil, source(t, "jobs", store))
	for _, size := range []int32{0, 7, 100, 125, 250, 1 << 30} {
		var got []string
		var pages int
		for token := ""; pages == 0 || token != ""; pages++ {
			resp, err := b.ListQueues(t.Context(), &leadsmanv1.ListQueuesRequest{Source: "jobs", PageSize: size, PageToken: token})
			if err != nil {
				t.Fatal(err)
			}
			if resp.GetTotal() != 250 {
				t.Errorf("total = %d, want 250", resp.GetTotal())
			}
			for _, q := range resp.GetQueues() {
				got = append(got, q.GetName())
			}
			token = resp.GetNextPageToken()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%s", size, diff)
		}
		perPage := 100 // the default
		if size > 0 {
			perPage = int(min(size, 1000))
		}
		if wantPages := (250 + perPage - 1) / perPage; pages != wantPages {
			t.Errorf("%d pages of %d, want %d", pages, size, wantPages)
		}
	}
	past, err := b.ListQueues(t.Context(), &leadsmanv1.ListQueuesRequest{PageToken: "900"})
	if err != nil || len(past.GetQueues()) != 0 || past.GetNextPageToken() != "" {
		t.Errorf("past the end: %v, %v, want an empty last page", past, err)
	}
	for _, bad := range []*leadsmanv1.ListQueuesRequest{{PageToken: "next"}, {PageToken: "-1"}, {PageSize: -1}} {
		_, err := b.ListQueues(t.Context(), bad)
		wantStatus(t, err, codes.InvalidArgument, "page_")
	}
	_, err = b.ListQueues(t.Context(), &leadsmanv1.ListQueuesRequest{Source: "job"})
	wantStatus(t, err, codes.InvalidArgument, `"job"`, "jobs")
}

func TestGetQueueShowsAllThatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{
			Ready: 3, Running: 2, Oldest: time.Minute, Due: []time.Duration{time.Hour},
			Pool: &driver.Pool{Workers: 2, Capacity: 20},
		})
		few := int64(2)
		jobs := source(t, "jobs", store)
		jobs.CountLimit = &few
		b := serve(t, nil, jobs)
		workers, capacity := int64(2), int64(20)
		got, err := b.GetQueue(t.Context(), &leadsmanv1.GetQueueRequest{Queue: "mail"})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "GetQueue", got, &leadsmanv1.GetQueueResponse{Queue: &leadsmanv1.Queue{
			Source: "jobs", Name: "mail", Known: true, Ready: 2, Running: 2, Scheduled: 1, Saturated: true,
			Oldest: durationpb.New(time.Minute), NextDue: durationpb.New(time.Hour),
			Workers: &workers, Capacity: &capacity, SampledAt: timestamppb.Now(),
		}})
	})
}

// Case 33: a name that is wrong is no error to KEDA, so a person must be able to see it.
func TestGetQueueOfAnUnknownNameOffersNearOnes(t *testing.T) {
	store := memory.New()
	for _, name := range []string{"mails", "mail-out", "video", "Mail"} {
		store.Enqueue(name, 1)
	}
	b := serve(t, nil, source(t, "jobs", store))
	got, err := b.GetQueue(t.Context(), &leadsmanv1.GetQueueRequest{Queue: "mail"})
	if err != nil || got.GetQueue().GetKnown() || got.GetQueue().GetName() != "mail" || got.GetQueue().GetReady() != 0 {
		t.Errorf("GetQueue = %v, %v, want mail, unknown and empty", got, err)
	}
	if diff := cmp.Diff([]string{"Mail", "mails", "mail-out"}, got.GetNearNames()); diff != "" {
		t.Errorf("near names (-want +got):\n%s", diff)
	}
	_, err = b.GetQueue(t.Context(), &leadsmanv1.GetQueueRequest{})
	wantStatus(t, err, codes.InvalidArgument, "queue is empty")
}

// All that is asked for is read along for a while, for everybody: a name that a database chokes on would take the
// whole source down, and long ones would fill the memory.
func TestNamesThatNoTriggerCouldAskForAreRefused(t *testing.T) {
	b := serve(t, nil, source(t, "jobs", memory.New()))
	for name, queue := range map[string]string{"a NUL": "mail\x00", "a line break": "mail\n", "600 bytes": strings.Repeat("m", 600)} {
		_, err := b.GetQueue(t.Context(), &leadsmanv1.GetQueueRequest{Queue: queue})
		wantStatus(t, err, codes.InvalidArgument, "queue")
		stream, err := b.WatchQueue(t.Context(), &leadsmanv1.WatchQueueRequest{Queue: queue})
		if err == nil {
			_, err = stream.Recv()
		}
		wantStatus(t, err, codes.InvalidArgument, "queue")
		if t.Failed() {
			t.Fatalf("with %s", name)
		}
	}
	if got := b.sources()[0].GetQueuesWanted(); got != 0 {
		t.Errorf("%d queues are read along, want none", got)
	}
}

// KEDA's streams carry true only; people see both edges here, and what happens between.
func TestWatchQueueShowsBothEdges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store))
		w := b.watch(t.Context(), &leadsmanv1.WatchQueueRequest{Queue: "mail"})
		for _, step := range []struct {
			do             func()
			known, active  bool
			ready, running int64
			nothing        bool
		}{
			{do: func() {}},
			{do: func() { store.Enqueue("mail", 2) }, known: true, active: true, ready: 2},
			{do: func() { store.Enqueue("video", 2) }, nothing: true},
			{do: func() { store.Claim("mail", 2) }, known: true, active: true, running: 2},
			{do: func() { store.Finish("mail", 2) }, known: true},
		} {
			step.do()
			time.Sleep(5 * time.Second)
			got := w.take()
			if step.nothing {
				if len(got) != 0 {
					t.Errorf("%v though nothing has changed", got)
				}
				continue
			}
			if len(got) != 1 {
				t.Errorf("%d messages for one change: %v", len(got), got)
				continue
			}
			q := got[0].GetQueue()
			if q.GetKnown() != step.known || got[0].GetActive() != step.active || q.GetReady() != step.ready || q.GetRunning() != step.running {
				t.Errorf("%v, want %+v", got[0], step)
			}
		}
		b.stop()
		time.Sleep(time.Second)
		if err, ended := w.end(); err != nil || !ended {
			t.Errorf("ended = %v with %v, want EOF when the server stops", ended, err)
		}
	})
}

func TestWatchQueueSaysWhyItCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Enqueue("mail", 1)
		b := serve(t, nil, source(t, "jobs", store))
		w := b.watch(t.Context(), &leadsmanv1.WatchQueueRequest{Queue: "mail"})
		store.Fail(driver.Errorf(driver.Unavailable, "the database is down"))
		time.Sleep(10 * time.Second)
		store.Fail(nil)
		time.Sleep(10 * time.Second)
		got := w.take()
		if len(got) != 3 || got[0].GetError() != "" || got[2].GetQueue().GetReady() != 1 ||
			!strings.Contains(got[1].GetError(), "the database is down") || got[1].GetQueue() != nil || got[1].GetActive() {
			t.Errorf("got %v, want the queue, the error, the queue", got)
		}
	})
}

func TestWatchQueueEndsWithItsGrant(t *testing.T) {
	for name, narrowed := range map[string]func(*scaler.Token){
		"revoked":         func(token *scaler.Token) { token.SHA256 = strings.Repeat("0", 64) },
		"another scope":   func(token *scaler.Token) { token.Scopes = []scaler.Scope{scaler.ScopeRead} },
		"other sources":   func(token *scaler.Token) { token.Sources = []string{"other"} },
		"other queues":    func(token *scaler.Token) { token.Queues = []string{"video"} },
		"it has expired":  func(token *scaler.Token) { token.Expires = time.Now().Add(-time.Second) },
		"still the same":  func(*scaler.Token) {},
		"a wider pattern": func(token *scaler.Token) { token.Queues = []string{"*"} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				token, entry := mint(t, scaler.Grant{ID: "person", Scopes: []scaler.Scope{scaler.ScopeInspect}})
				b := serve(t, []scaler.Token{entry}, source(t, "jobs", memory.New()))
				w := b.watch(bearing(t, token), &leadsmanv1.WatchQueueRequest{Queue: "mail"})
				narrowed(&entry)
				if err := b.server.SetAccess(scaler.Access{Tokens: []scaler.Token{entry}}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Second)
				keeps := name == "still the same" || name == "a wider pattern"
				if err, ended := w.end(); ended == keeps || ended && err == nil {
					t.Errorf("ended = %v with %v", ended, err)
				}
			})
		})
	}
}
