package inspect_test

import (
	"encoding/json"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	leadsmanv1 "github.com/leadsman/leadsman/proto/leadsman/v1"
	"github.com/leadsman/leadsman/scaler/web"
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

// What is explained of a trigger that asks over HTTP is what the same server answers there.
func TestExplainAgreesWithHTTP(t *testing.T) {
	store := memory.New()
	store.Enqueue("mail", 41)
	store.Enqueue("video", 1)
	b := serve(t, nil, source(t, "jobs", store))
	front, err := web.New(web.Options{Scaler: b.server, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/scaler/jobs/mail", "/api/scaler?queue=mail,video&target=3", "/api/scaler/job", "/api/scaler?target=0"} {
		w := httptest.NewRecorder()
		front.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		var answer struct {
			MetricName, Error string
			MetricValue       float64
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatal(err)
		}
		got, err := b.Explain(t.Context(), &leadsmanv1.ExplainRequest{MetricsApi: &leadsmanv1.MetricsAPI{
			Url: "http://leadsman-http.leadsman.svc:8080" + path, ValueLocation: "metricValue", TargetValue: 20, ActivationTargetValue: 41,
		}, CurrentReplicas: 1})
		if w.Code != http.StatusOK {
			wantStatus(t, err, codes.InvalidArgument, strconv.Itoa(w.Code), answer.Error)
			continue
		}
		if err != nil || got.GetError() != "" || got.GetValue() != answer.MetricValue || got.GetMetricName() != answer.MetricName ||
			got.GetActive() != (answer.MetricValue > 41) || got.GetTarget() != 20 {
			t.Errorf("%s: %v, %v, and the answer is %s", path, got, err, w.Body)
		}
		if want := map[bool]int32{true: 3, false: 0}[answer.MetricValue > 41]; got.GetDesiredReplicas() != want {
			t.Errorf("%s: %d replicas, want %d", path, got.GetDesiredReplicas(), want)
		}
	}
}

func TestExplainRefusesAMetricsAPIThatKEDARefuses(t *testing.T) {
	b := serve(t, nil, source(t, "jobs", memory.New()))
	const path = "/api/scaler"
	for want, over := range map[string]*leadsmanv1.MetricsAPI{
		"target_value":            {Url: path, ValueLocation: "metricValue"},
		"activation_target_value": {Url: path, ValueLocation: "metricValue", TargetValue: 1, ActivationTargetValue: math.NaN()},
		"404":                     {Url: "/api/scaler/none", ValueLocation: "metricValue", TargetValue: 1},
		"leadsman's":              {Url: "/metrics", ValueLocation: "metricValue", TargetValue: 1},
	} {
		_, err := b.Explain(t.Context(), &leadsmanv1.ExplainRequest{MetricsApi: over})
		wantStatus(t, err, codes.InvalidArgument, want)
	}
	over := &leadsmanv1.MetricsAPI{Url: path, ValueLocation: "metricvalue", TargetValue: 1}
	_, err := b.Explain(t.Context(), &leadsmanv1.ExplainRequest{MetricsApi: over, Metadata: pairs("queue", "mail")})
	wantStatus(t, err, codes.InvalidArgument, "metadata")
	got, err := b.Explain(t.Context(), &leadsmanv1.ExplainRequest{MetricsApi: over})
	if err != nil || got.Value != nil || got.Active != nil || got.DesiredReplicas != nil || !strings.Contains(got.GetError(), "valueLocation") {
		t.Errorf("Explain = %v, %v, want the error and nothing that looks like an answer", got, err)
	}
	_, err = b.Explain(t.Context(), &leadsmanv1.ExplainRequest{MetricType: "Utilization"})
	wantStatus(t, err, codes.InvalidArgument, "metric_type")
}

// By metricType Value, the HPA multiplies the replicas there are.
func TestExplainMultipliesReplicasByValue(t *testing.T) {
	store := memory.New()
	store.Enqueue("mail", 30)
	b := serve(t, nil, source(t, "jobs", store))
	for current, want := range map[int32]int32{0: 3, 1: 3, 4: 12, 10: 20} {
		got, err := b.Explain(t.Context(), &leadsmanv1.ExplainRequest{
			Metadata: pairs("queue", "mail"), MetricType: "Value", CurrentReplicas: current, MaxReplicas: 20,
		})
		if err != nil || got.GetDesiredReplicas() != want {
			t.Errorf("%d replicas: %v, %v, want %d", current, got, err, want)
		}
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
