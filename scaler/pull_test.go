package scaler_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc/codes"

	"github.com/leadsman/leadsman/storage/memory"
)

// Cases 1 and 3: the name passes through KEDA and the HPA, which lower-case it and put an index before it.
func TestMetricNameIsKnownInAnyCaseAndWithKEDAsIndex(t *testing.T) {
	store := memory.New()
	store.Enqueue("MailOut", 4)
	b := serve(t, nil, source(t, "jobs", store))
	mail := ref("queue", "MailOut")
	own := b.spec(mail).GetMetricName()
	if own != strings.ToLower(own) {
		t.Errorf("GetMetricSpec names %q, want lower case only", own)
	}
	for _, c := range []struct{ asked, echoed string }{
		{own, own},
		{strings.ToUpper(own), strings.ToUpper(own)},
		{"s0-" + own, "s0-" + own},
		{"s12-" + own, "s12-" + own},
		{"", own},
	} {
		resp, err := b.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: mail, MetricName: c.asked})
		if err != nil || len(resp.GetMetricValues()) != 1 {
			t.Errorf("GetMetrics of %q = %v, %v, want one value", c.asked, resp, err)
			continue
		}
		if got := resp.GetMetricValues()[0]; got.GetMetricName() != c.echoed || got.GetMetricValueFloat() != 4 {
			t.Errorf("GetMetrics of %q = %v, want 4 under the name %q", c.asked, got, c.echoed)
		}
	}
	_, err := b.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: mail, MetricName: "s0-other"})
	wantStatus(t, err, codes.NotFound, `"s0-other"`, own)
}

// Case 2: the HPA refuses '/' and folds letter case; names that differ must stay different all the same.
func TestMetricNamesAreValidShortAndDistinct(t *testing.T) {
	b := serve(t, nil, source(t, "jobs", memory.New()))
	form := regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	seen := map[string]string{}
	for _, queue := range []string{"team/mail", "team-mail", "Team/Mail", "team mail", "*", "mail-*", strings.Repeat("m", 500)} {
		name := b.spec(ref("queue", queue)).GetMetricName()
		if !form.MatchString(name) {
			t.Errorf("queue %q has metric %q, want at most 63 of [a-z0-9-]", queue, name)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("queues %q and %q share the metric %q", queue, other, name)
		}
		seen[name] = queue
		if tuned := b.spec(ref("queue", queue, "target", "77", "activation", "5", "max", "9")).GetMetricName(); tuned != name {
			t.Errorf("tuning changes the metric of %q from %q to %q: the HPA would take it for another", queue, name, tuned)
		}
	}
}

// Case 4: KEDA tells two triggers of one ScaledObject apart by their metadata alone.
func TestTwoTriggersOfOneObjectAreKeptApart(t *testing.T) {
	store := memory.New()
	store.Enqueue("a", 3)
	store.Enqueue("b", 70)
	b := serve(t, nil, source(t, "jobs", store))
	for range 3 {
		b.wantValue(ref("queue", "a"), 3)
		b.wantValue(ref("queue", "b"), 70)
		b.wantActive(ref("queue", "a", "activation", "3"), false)
		b.wantActive(ref("queue", "b", "activation", "3"), true)
	}
}

// Case 5.
func TestMetadataThatNameNoSource(t *testing.T) {
	store := memory.New()
	store.Enqueue("mail", 2)
	store.Enqueue("video", 3)
	one := serve(t, nil, source(t, "jobs", store))
	one.wantValue(ref(), 5) // the only source, all queues
	two := serve(t, nil, source(t, "jobs", store), source(t, "other", memory.New()))
	for name, empty := range map[string]*pb.ScaledObjectRef{
		"an empty map": ref(),
		"no map":       {Name: "worker", Namespace: "team"},
		"nothing":      {},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := two.GetMetricSpec(t.Context(), empty)
			wantStatus(t, err, codes.InvalidArgument, `"source"`, "jobs, other")
			_, err = two.IsActive(t.Context(), empty)
			wantStatus(t, err, codes.InvalidArgument, `"source"`)
			_, err = two.value(empty)
			wantStatus(t, err, codes.InvalidArgument, `"source"`)
			stream, err := two.StreamIsActive(t.Context(), empty)
			if err == nil {
				_, err = stream.Recv()
			}
			wantStatus(t, err, codes.InvalidArgument, `"source"`)
		})
	}
}

// Case 18: KEDA asks for value and activity one after the other while workers drain the queue.
func TestGetMetricsAndIsActiveAnswerFromOneSample(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Enqueue("mail", 9)
		b := serve(t, nil, source(t, "jobs", store))
		b.wantValue(ref("queue", "mail"), 9)
		store.Discard("mail")
		time.Sleep(500 * time.Millisecond)
		b.wantActive(ref("queue", "mail"), true)
		if got := store.Reads(); got != 1 {
			t.Errorf("%d reads, want 1 for both", got)
		}
		time.Sleep(time.Second)
		b.wantActive(ref("queue", "mail"), false)
		b.wantValue(ref("queue", "mail"), 0)
		if got := store.Reads(); got != 2 {
			t.Errorf("%d reads, want 2 for both pairs", got)
		}
	})
}

// Case 12: 5 jobs each 10 s, drained within 1 s, are never there when KEDA polls.
func TestLingerHoldsActiveBetweenBursts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store))
		lingering, plain := ref("queue", "mail", "linger", "15s"), ref("queue", "mail")
		b.listen(lingering)
		b.wantActive(lingering, false)
		time.Sleep(time.Millisecond) // what follows must not happen at the very instant of that read
		for range 6 {
			store.Enqueue("mail", 5)
			time.Sleep(time.Second)
			store.Discard("mail")
			time.Sleep(8900 * time.Millisecond)
			b.wantActive(lingering, true)
			b.wantActive(plain, false)
			time.Sleep(100 * time.Millisecond)
		}
		b.wantValue(lingering, 0) // only the activity lingers
		time.Sleep(16 * time.Second)
		b.wantActive(lingering, false)
	})
}

// Case 17 and rule 3: an operator restarts and asks for 10,000 objects on 3 sources.
func TestHerdOfObjectsIsAHandfulOfReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"blue", "green", "red"}
		stores := map[string]*slow{}
		b := serve(t, nil,
			source(t, names[0], newSlowIn(stores, names[0])),
			source(t, names[1], newSlowIn(stores, names[1])),
			source(t, names[2], newSlowIn(stores, names[2])))
		var herd sync.WaitGroup
		for i := range 10_000 {
			herd.Go(func() {
				object := ref("source", names[i%3], "queue", fmt.Sprintf("queue-%d", i))
				object.Name = fmt.Sprintf("worker-%d", i)
				if _, err := b.value(object); err != nil {
					t.Errorf("GetMetrics: %v", err)
				}
				if _, err := b.IsActive(t.Context(), object); err != nil {
					t.Errorf("IsActive: %v", err)
				}
			})
		}
		herd.Wait()
		for name, store := range stores {
			if got := store.Reads(); got > 5 {
				t.Errorf("source %s was read %d times for a herd of 3,333 objects, want a handful", name, got)
			}
		}
	})
}

func newSlowIn(stores map[string]*slow, name string) *slow {
	stores[name] = newSlow(20 * time.Millisecond)
	return stores[name]
}
