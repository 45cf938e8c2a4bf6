package inspect_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

func (b *bed) triggers() []*leadsmanv1.Trigger {
	b.t.Helper()
	resp, err := b.ListTriggers(b.t.Context(), &leadsmanv1.ListTriggersRequest{})
	if err != nil {
		b.t.Fatalf("ListTriggers: %v", err)
	}
	return resp.GetTriggers()
}

func TestListTriggersTellsWhatKEDAWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store))
		mail := ref("queue", "mail", "target", "4", "max", "100", "linger", "1m", "lookahead", "10s")
		spec, err := b.keda.GetMetricSpec(t.Context(), mail)
		if err != nil {
			t.Fatal(err)
		}
		most, value, active := 100.0, 7.0, true
		query := &leadsmanv1.Query{
			Source: "jobs", Queues: []string{"mail"}, Metric: "outstanding", Target: 4, ActiveWhileRunning: true,
			Linger: durationpb.New(time.Minute), Lookahead: durationpb.New(10 * time.Second), Max: &most,
			MetricName: spec.GetMetricSpecs()[0].GetMetricName(),
		}
		want := &leadsmanv1.Trigger{Namespace: "team", Object: "worker", Query: query, AskedAt: timestamppb.Now()}
		same(t, "after the spec was asked for", b.triggers()[0], want)

		b.listen(mail)
		time.Sleep(63 * time.Second)
		enqueued := time.Now()
		store.Set("mail", memory.State{Ready: 5, Running: 2})
		time.Sleep(time.Millisecond)
		woken := b.triggers()[0]
		if woken.GetStreams() != 1 || woken.GetWakes() != 1 || !woken.GetWokenAt().AsTime().Equal(enqueued) {
			t.Errorf("after a wake: %v, want one stream and one wake at %v", woken, enqueued)
		}

		time.Sleep(2 * time.Second)
		if _, err := b.keda.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: mail}); err != nil {
			t.Fatal(err)
		}
		if _, err := b.keda.IsActive(t.Context(), mail); err != nil {
			t.Fatal(err)
		}
		now := timestamppb.Now()
		want.Streams, want.Wakes, want.WokenAt = 1, 1, timestamppb.New(enqueued)
		want.Value, want.ValueAt, want.Active, want.ActiveAt, want.AskedAt = &value, now, &active, now, now
		got := b.triggers()[0]

		same(t, "after a poll", got, want)

		store.Fail(driver.Errorf(driver.Unavailable, "the database is down"))
		time.Sleep(time.Minute)
		_, err = b.keda.IsActive(t.Context(), mail)
		wantStatus(t, err, codes.Unavailable)
		if got := b.triggers()[0]; !strings.Contains(got.GetError(), "the database is down") || got.GetValue() != value {
			t.Errorf("after a failure: %v, want the error and what was last told", got)
		}
	})
}

// A wake that waits for others is told with the time that this took.
func TestListTriggersTellsHowLongAWakeTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store))
		b.listen(ref("queue", "mail"))
		time.Sleep(time.Second)
		b.listen(ref("queue", "video"))
		store.Enqueue("video", 1) // its signal goes ahead, and the next is passed on with those of 20 ms
		time.Sleep(5 * time.Millisecond)
		store.Enqueue("mail", 1)
		time.Sleep(time.Second)
		if got := b.triggers()[0].GetWakeTook().AsDuration(); got < 14*time.Millisecond || got > 20*time.Millisecond {
			t.Errorf("wake took %v, want the 15 ms until the signals are passed on", got)
		}
	})
}

func TestListTriggersGoesThroughAllPages(t *testing.T) {
	b := serve(t, nil, source(t, "jobs", memory.New()))
	var want []string
	for i := range 30 {
		for _, activation := range []string{"1", "2"} { // the same metric: two triggers all the same
			object := ref("queue", "mail", "activation", activation)
			object.Name = fmt.Sprintf("worker-%02d", i)
			if _, err := b.keda.GetMetricSpec(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			want = append(want, object.GetName()+"/"+activation)
		}
	}
	var got []string
	for token := "0"; token != ""; {
		resp, err := b.ListTriggers(t.Context(), &leadsmanv1.ListTriggersRequest{PageSize: 7, PageToken: token})
		if err != nil {
			t.Fatal(err)
		}
		if resp.GetTotal() != 60 {
			t.Errorf("total = %d, want 60", resp.GetTotal())
		}
		for _, trigger := range resp.GetTriggers() {
			got = append(got, fmt.Sprintf("%s/%g", trigger.GetObject(), trigger.GetQuery().GetActivation()))
		}
		token = resp.GetNextPageToken()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, err := b.ListTriggers(t.Context(), &leadsmanv1.ListTriggersRequest{PageToken: "?"})
	wantStatus(t, err, codes.InvalidArgument, "page_token")
}
