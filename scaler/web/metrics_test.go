package web_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/web"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

// A scrape is what Prometheus' own parser made of /metrics.
type scrape map[string]*dto.MetricFamily

// scrapeOf parses a reply and lints it.
func scrapeOf(t *testing.T, got reply) scrape {
	t.Helper()
	if got.status != 200 {
		t.Fatalf("/metrics: %d %s", got.status, got.body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(got.body))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, got.body)
	}
	problems, err := promlint.New(strings.NewReader(got.body)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	return families
}

// series are the values of a family by its labels, in order: "mail ready" → 3.
func (s scrape) series(name string) map[string]float64 {
	out := map[string]float64{}
	for _, m := range s[name].GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetValue())
		}
		switch {
		case m.GetGauge() != nil:
			out[strings.Join(labels, " ")] = m.GetGauge().GetValue()
		case m.GetCounter() != nil:
			out[strings.Join(labels, " ")] = m.GetCounter().GetValue()
		default:
			out[strings.Join(labels, " ")] = float64(m.GetHistogram().GetSampleCount())
		}
	}
	return out
}

func (s scrape) wants(t *testing.T, name string, want map[string]float64) {
	t.Helper()
	if diff := cmp.Diff(want, s.series(name)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// keda connects as KEDA does.
func (b *bed) keda() pb.ExternalScalerClient { //nolint:ireturn // the generated client has no other form
	b.t.Helper()
	conn, err := grpc.NewClient("passthrough:leadsman",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return b.listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	return pb.NewExternalScalerClient(conn)
}

func TestMetricsTellHowQueuesStand(t *testing.T) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 3, Running: 2, Due: []time.Duration{time.Hour}, Pool: &driver.Pool{Workers: 2, Capacity: 8}})
	store.Set("idle", memory.State{Paused: true})
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", store))
	eventually(t, "the source is watched", func() bool {
		id, err := b.server.Identify(t.Context())
		return err == nil && b.server.Sources(id)[0].PushMode == driver.ModeDirect
	})
	got := scrapeOf(t, b.get("/metrics"))
	got.wants(t, "leadsman_queue_jobs", map[string]float64{
		"mail jobs ready": 3, "mail jobs running": 2, "mail jobs scheduled": 1,
		"idle jobs ready": 0, "idle jobs running": 0, "idle jobs scheduled": 0, // known to be empty
	})
	got.wants(t, "leadsman_queue_paused", map[string]float64{"mail jobs": 0, "idle jobs": 1})
	got.wants(t, "leadsman_queue_saturated", map[string]float64{"mail jobs": 0, "idle jobs": 0})
	got.wants(t, "leadsman_workers", map[string]float64{"mail jobs": 2})
	got.wants(t, "leadsman_worker_slots", map[string]float64{"mail jobs busy": 2, "mail jobs idle": 6})
	got.wants(t, "leadsman_source_up", map[string]float64{"jobs": 1})
	got.wants(t, "leadsman_push_mode", map[string]float64{"direct jobs": 1})
	got.wants(t, "leadsman_queues_left_out", map[string]float64{"limit jobs": 0, "name jobs": 0})
	got.wants(t, "leadsman_wakes_total", map[string]float64{"jobs": 0})
	got.wants(t, "leadsman_wake_latency_seconds", map[string]float64{"jobs": 0})
	got.wants(t, "leadsman_sample_errors_total", map[string]float64{
		"unavailable jobs": 0, "timeout jobs": 0, "denied jobs": 0, "schema jobs": 0, "contract jobs": 0,
	})
	if oldest := got.series("leadsman_queue_oldest_seconds"); oldest["idle jobs"] != 0 || oldest["mail jobs"] <= 0 {
		t.Errorf("oldest: %v", oldest)
	}
	for _, name := range []string{"grpc_server_handled_total", "leadsman_triggers"} {
		if got[name] == nil {
			t.Errorf("no %s", name)
		}
	}
	again := scrapeOf(t, b.get("/metrics")) // the first one has been counted by now
	again.wants(t, "leadsman_http_requests_total", map[string]float64{"200 GET /metrics": 1})
	if n := again.series("leadsman_sample_duration_seconds")["jobs"]; n == 0 {
		t.Error("no read was timed")
	}
}

// Never turn ignorance into zero: the last known values for as long as KEDA gets them, and then none.
func TestFailedReadLeavesNoFreshZero(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, never := memory.New(), memory.New()
		store.Set("mail", memory.State{Ready: 3})
		never.Fail(errors.New("connection refused"))
		b := serve(t, scaler.Access{}, nil, source(t, "jobs", store), source(t, "never", never))
		first := scrapeOf(t, b.direct("/metrics"))
		first.wants(t, "leadsman_source_up", map[string]float64{"jobs": 1, "never": 0})
		store.Fail(errors.New("connection refused"))
		time.Sleep(20 * time.Second)
		kept := scrapeOf(t, b.direct("/metrics"))
		kept.wants(t, "leadsman_queue_jobs", map[string]float64{"mail jobs ready": 3, "mail jobs running": 0, "mail jobs scheduled": 0})
		kept.wants(t, "leadsman_source_up", map[string]float64{"jobs": 0, "never": 0})
		kept.wants(t, "leadsman_sample_age_seconds", map[string]float64{"jobs": 20})
		time.Sleep(20 * time.Second)
		gone := scrapeOf(t, b.direct("/metrics"))
		gone.wants(t, "leadsman_queue_jobs", map[string]float64{})
		gone.wants(t, "leadsman_source_up", map[string]float64{"jobs": 0, "never": 0})
		if errs := gone.series("leadsman_sample_errors_total"); errs["unavailable jobs"] == 0 || errs["unavailable never"] == 0 {
			t.Errorf("errors: %v", errs)
		}
		store.Fail(nil)
		time.Sleep(2 * time.Second)
		scrapeOf(t, b.direct("/metrics")).wants(t, "leadsman_queue_jobs",
			map[string]float64{"mail jobs ready": 3, "mail jobs running": 0, "mail jobs scheduled": 0})
	})
}

// A crowd of names that are asked for once takes no series from a queue that is followed, whatever it is called; the places
// of those that nobody asks for any more go to the next.
func TestAFollowedQueueKeepsItsSeries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bounded := func(_ *web.Options, opts *scaler.Options) { opts.MaxMetricQueues = 10 }
		b := serve(t, scaler.Access{}, bounded, source(t, "jobs", memory.New()))
		ask := func(pattern string, n int) {
			for i := range n {
				_ = b.direct(fmt.Sprintf("/api/scaler/jobs/"+pattern, i))
			}
		}
		wants := func(want ...string) {
			t.Helper()
			got := scrapeOf(t, b.direct("/metrics")).series("leadsman_queue_paused")
			for _, name := range want {
				if _, ok := got[name+" jobs"]; !ok || len(got) != 10 {
					t.Errorf("%s is not among %d queues: %v", name, len(got), slices.Sorted(maps.Keys(got)))
				}
			}
		}
		_ = b.direct("/api/scaler/jobs/mail")
		time.Sleep(time.Second)
		ask("crowd-%02d", 20)
		wants("mail", "crowd-00", "crowd-08")
		for range 12 {
			time.Sleep(30 * time.Second)
			_ = b.direct("/api/scaler/jobs/mail")
			ask("a-late-%02d", 20) // asked for all the time, and come later than mail
		}
		wants("mail", "a-late-00", "a-late-08")
	})
}

// Case 72: names that were asked for once are forgotten, and what the source itself has is bounded.
func TestSeriesExpireAndAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{Ready: 1})
		store.Set("a\xff", memory.State{Ready: 1})
		store.Set(strings.Repeat("x", 1<<20), memory.State{Ready: 1})
		for i := range 60 {
			store.Set(fmt.Sprintf("a%02d", i), memory.State{})
		}
		bounded := func(_ *web.Options, opts *scaler.Options) { opts.MaxMetricQueues = 50 }
		b := serve(t, scaler.Access{}, bounded, source(t, "jobs", store))
		for i := range 100 {
			_ = b.direct(fmt.Sprintf("/api/scaler/jobs/seen-once-%d", i))
		}
		queues := func(s scrape) []string {
			return slices.Sorted(maps.Keys(s.series("leadsman_queue_paused")))
		}
		flooded := scrapeOf(t, b.direct("/metrics"))
		flooded.wants(t, "leadsman_queues_left_out", map[string]float64{"limit jobs": 111, "name jobs": 2})
		if got := queues(flooded); len(got) != 50 || !strings.HasPrefix(got[0], "seen-once") {
			t.Errorf("%d queues, of which those should be there that are asked for: %v", len(got), got)
		}
		time.Sleep(6 * time.Minute)
		_ = b.direct("/api/scaler/jobs/mail")
		later := scrapeOf(t, b.direct("/metrics"))
		later.wants(t, "leadsman_queues_left_out", map[string]float64{"limit jobs": 11, "name jobs": 2})
		if got := queues(later); len(got) != 50 || !slices.Contains(got, "mail jobs") || strings.Contains(strings.Join(got, " "), "seen-once") {
			t.Errorf("%v", got)
		}
	})
}

func TestMetricsCountWakesAndStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, scaler.Access{}, nil, source(t, "jobs", store))
		stream, err := b.keda().StreamIsActive(t.Context(), &pb.ScaledObjectRef{Name: "w", Namespace: "n", ScalerMetadata: map[string]string{"queue": "mail"}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		idle := scrapeOf(t, b.direct("/metrics"))
		idle.wants(t, "leadsman_streams", map[string]float64{"jobs": 1})
		idle.wants(t, "leadsman_streams_waiting", map[string]float64{"jobs": 1})
		idle.wants(t, "leadsman_triggers", map[string]float64{"": 1})
		store.Enqueue("mail", 1)
		if _, err := stream.Recv(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		woken := scrapeOf(t, b.direct("/metrics"))
		woken.wants(t, "leadsman_wakes_total", map[string]float64{"jobs": 1})
		woken.wants(t, "leadsman_streams_waiting", map[string]float64{"jobs": 0})
		woken.wants(t, "leadsman_signals_total", map[string]float64{"jobs": 1})
		started := woken.series("grpc_server_started_total")
		if n := started["StreamIsActive externalscaler.ExternalScaler server_stream"]; n != 1 {
			t.Errorf("calls: %v", started)
		}
	})
}

// Refusals count too: they are what an operator looks for when KEDA gets nothing.
func TestMetricsCountCallsByTheirEnd(t *testing.T) {
	token, entry := mint(t, scaler.Grant{ID: "all"})
	b := serve(t, scaler.Access{Tokens: []scaler.Token{entry}}, nil, source(t, "jobs", memory.New()))
	keda := b.keda()
	ask := func(metadata ...string) {
		ref := &pb.ScaledObjectRef{Name: "w", ScalerMetadata: map[string]string{}}
		for i := 0; i < len(metadata); i += 2 {
			ref.ScalerMetadata[metadata[i]] = metadata[i+1]
		}
		_, _ = keda.IsActive(t.Context(), ref)
	}
	ask()
	ask("token", "wrong")
	ask("token", token)
	ask("token", token, "sauce", "jobs")
	var got scrape
	eventually(t, "all calls have been counted", func() bool {
		got = scrapeOf(t, b.get("/metrics", "X-API-KEY", token))
		return got.series("grpc_server_handling_seconds")["IsActive externalscaler.ExternalScaler unary"] == 4
	})
	ended := map[string]float64{}
	for labels, n := range got.series("grpc_server_handled_total") {
		if code, ok := strings.CutSuffix(labels, " IsActive externalscaler.ExternalScaler unary"); ok && n > 0 {
			ended[code] = n
		}
	}
	want := map[string]float64{"Unauthenticated": 2, "OK": 1, "InvalidArgument": 1}
	if diff := cmp.Diff(want, ended); diff != "" {
		t.Errorf("IsActive ended (-want +got):\n%s", diff)
	}
	if n, ok := got.series("grpc_server_handled_total")["OK Signal leadsman.v1.Signals unary"]; ok && n != 0 {
		t.Errorf("calls that nobody made: %v", n)
	}
}

// One more that asks costs the source no more reads.
func TestScrapesShareTheSampleOfTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, scaler.Access{}, nil, source(t, "jobs", store))
		for range 10 {
			_ = b.direct("/metrics")
			_ = b.direct("/api/scaler")
		}
		if n := store.Reads(); n != 1 {
			t.Errorf("%d reads, want 1", n)
		}
	})
}

func TestHangingSourceDoesNotHoldUpAScrape(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{Ready: 3})
		b := serve(t, scaler.Access{}, nil, source(t, "jobs", store), source(t, "hangs", hanging{}))
		began := time.Now()
		got := scrapeOf(t, b.direct("/metrics"))
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		got.wants(t, "leadsman_queue_jobs", map[string]float64{"mail jobs ready": 3, "mail jobs running": 0, "mail jobs scheduled": 0})
	})
}
