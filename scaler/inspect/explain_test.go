package inspect_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

func TestExplainTellsValueActivityReplicasAndWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{Ready: 41, Running: 4, Oldest: time.Minute})
		store.Set("empty", memory.State{Due: []time.Duration{90 * time.Second}})
		store.Set("paused", memory.State{Ready: 9, Paused: true})
		b := serve(t, nil, source(t, "jobs", store))
		for _, c := range []struct {
			name     string
			req      *leadsmanv1.ExplainRequest
			value    float64
			active   bool
			replicas int32
			why      []string
		}{
			{
				"a backlog",
				&leadsmanv1.ExplainRequest{Metadata: pairs("queue", "mail"), CurrentReplicas: 2},
				45,
				true,
				5,
				[]string{"ready+running of mail in source jobs", "41 ready, 4 running", "45 is greater than activation 0", "45 / target 10", "(now 2)"},
			},
			{"the maximum", &leadsmanv1.ExplainRequest{Metadata: pairs("queue", "mail"), MaxReplicas: 3}, 45, true, 3, []string{"within 1 and 3: 3"}},
			{"the minimum", &leadsmanv1.ExplainRequest{Metadata: pairs("queue", "mail", "target", "100"), MinReplicas: 2}, 45, true, 2, nil},
			{"at least one", &leadsmanv1.ExplainRequest{Metadata: pairs("queue", "mail", "metric", "scheduled")}, 0, true, 1, nil},
			{"KEDA's own maximum", &leadsmanv1.ExplainRequest{Metadata: pairs("queue", "mail", "target", "0.1")}, 45, true, 100, nil},
			{"a minimum above it", &leadsmanv1.ExplainRequest{Metadata: pairs("queue", "mail"), MinReplicas: 200}, 45, true, 200, nil},
			{"a cap", &leadsmanv1.ExplainRequest{Metadata: pairs("queue", "mail", "max", "20")}, 20, true, 2, []string{"outstanding = 45, capped to 20"}},
			{"not enough", &leadsmanv1.ExplainRequest{Metadata: pairs("queue", "mail", "activation", "45"), MinReplicas: 1}, 45, false, 1, []string{"45 is not greater than activation 45", "cooldownPeriod"}},
			{"ready only", &leadsmanv1.ExplainRequest{Metadata: pairs("queue", "mail", "activation", "41", "activeWhileRunning", "false")}, 45, false, 0, []string{"activeWhileRunning is false"}},
			{"nothing yet", &leadsmanv1.ExplainRequest{Metadata: pairs("queue", "empty")}, 0, false, 0, []string{"next scheduled job is due in 1m30s"}},
			{"paused", &leadsmanv1.ExplainRequest{Metadata: pairs("queue", "paused")}, 0, false, 0, []string{"1 queue paused"}},
			{"an unknown name", &leadsmanv1.ExplainRequest{Metadata: pairs("queue", "mial")}, 0, false, 0, []string{`no trace of "mial"`}},
		} {
			got, err := b.Explain(t.Context(), c.req)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if got.Value == nil || got.Active == nil || got.DesiredReplicas == nil {
				t.Errorf("%s: an answer is missing in %v", c.name, got)
			}
			if got.GetValue() != c.value || got.GetActive() != c.active || got.GetDesiredReplicas() != c.replicas || got.GetError() != "" {
				t.Errorf("%s: value %g, active %v, %d replicas, error %q, want %g, %v, %d", c.name,
					got.GetValue(), got.GetActive(), got.GetDesiredReplicas(), got.GetError(), c.value, c.active, c.replicas)
			}
			why := strings.Join(got.GetWhy(), "\n")
			for _, text := range c.why {
				if !strings.Contains(why, text) {
					t.Errorf("%s: %q is not among the reasons:\n%s", c.name, text, why)
				}
			}
		}
		// Asking is no trigger of KEDA's.
		if got := b.triggers(); len(got) != 0 {
			t.Errorf("Explain has left triggers: %v", got)
		}
	})
}

// What Explain says must be what KEDA gets.
func TestExplainAgreesWithKEDAsCalls(t *testing.T) {
	store := memory.New()
	store.Enqueue("mail-a", 3)
	store.Enqueue("mail-b", 4)
	store.Enqueue("video", 5)
	b := serve(t, nil, source(t, "jobs", store))
	metadata := pairs("queue", "mail-*", "target", "2.5", "metric", "ready")
	got, err := b.Explain(t.Context(), &leadsmanv1.ExplainRequest{Metadata: metadata, Namespace: "team"})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := b.keda.GetMetricSpec(t.Context(), ref("queue", "mail-*", "target", "2.5", "metric", "ready"))
	if err != nil {
		t.Fatal(err)
	}
	if s := spec.GetMetricSpecs()[0]; got.GetMetricName() != s.GetMetricName() || got.GetTarget() != s.GetTargetSizeFloat() {
		t.Errorf("Explain says %s by %g, KEDA gets %v", got.GetMetricName(), got.GetTarget(), s)
	}
	if got.GetValue() != 7 || got.GetDesiredReplicas() != 3 || len(got.GetQueues()) != 2 {
		t.Errorf("Explain = %v, want 7 of two queues, three replicas", got)
	}
}

func TestExplainOfASourceThatIsDownSaysSoAndNoZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Enqueue("mail", 3)
		b := serve(t, nil, source(t, "jobs", store))
		req := &leadsmanv1.ExplainRequest{Metadata: pairs("queue", "mail")}
		if _, err := b.Explain(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		store.Fail(driver.Errorf(driver.Unavailable, "the database is down"))
		time.Sleep(10 * time.Second)
		stale, err := b.Explain(t.Context(), req)
		why := strings.Join(stale.GetWhy(), "\n")
		if err != nil || stale.GetValue() != 3 || !strings.Contains(why, "the database is down") || !strings.Contains(why, "10s ago answers") {
			t.Errorf("within StaleAfter: %v, %v, want the last value and its age", stale, err)
		}
		time.Sleep(30 * time.Second)
		got, err := b.Explain(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if got.Value != nil || got.Active != nil || got.DesiredReplicas != nil || !strings.Contains(got.GetError(), "the database is down") {
			t.Errorf("Explain = %v, want the error and nothing that looks like an answer", got)
		}
		if got.GetMetricName() == "" || got.GetTarget() != 10 {
			t.Errorf("Explain = %v, want the spec, which needs no read", got)
		}
	})
}

func TestExplainOfAMetricWithoutItsSourceTellsActivityAlone(t *testing.T) {
	store := memory.New()
	store.Enqueue("mail", 3)
	b := serve(t, nil, source(t, "jobs", store))
	got, err := b.Explain(t.Context(), &leadsmanv1.ExplainRequest{Metadata: pairs("metric", "utilization")})
	if err != nil || got.Value != nil || got.DesiredReplicas != nil || !got.GetActive() || !strings.Contains(got.GetError(), "workers") {
		t.Errorf("Explain = %v, %v, want active, no value, and why", got, err)
	}
}

func TestExplainRefusesWhatKEDAWouldBeRefused(t *testing.T) {
	b := serve(t, nil, source(t, "jobs", memory.New()))
	_, err := b.Explain(t.Context(), &leadsmanv1.ExplainRequest{Metadata: pairs("queu", "mail", "target", "none")})
	wantStatus(t, err, codes.InvalidArgument, `"queu"`, `"target"`)
	for _, bad := range []*leadsmanv1.ExplainRequest{{MinReplicas: -1}, {MaxReplicas: -1}, {CurrentReplicas: -1}, {MinReplicas: 5, MaxReplicas: 4}} {
		_, err := b.Explain(t.Context(), bad)
		wantStatus(t, err, codes.InvalidArgument, "replicas")
	}
}
