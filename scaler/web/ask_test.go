package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

// Case 27: KEDA's valueLocation takes a plain number.
func TestAnswerIsFlatWithPlainNumbers(t *testing.T) {
	store := memory.New()
	store.Set("mail", memory.State{
		Ready: 7, Running: 3, Due: []time.Duration{time.Hour, 2 * time.Hour},
		Pool: &driver.Pool{Workers: 2, Capacity: 4},
	})
	store.Set("video", memory.State{Ready: 5, Paused: true, Pool: &driver.Pool{Workers: 1, Capacity: 2}})
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", store))

	const mail = `{
		"metricName": "queue-jobs--mail--outstanding", "metricValue": 10, "isActive": true,
		"liveWorkers": 2, "totalCapacity": 4, "targetQueueDepth": 10, "workerUtilization": 0.75,
		"perQueue": {"mail": {"pending": 7, "ready": 7, "running": 3, "scheduled": 2, "oldestSeconds": 0, "paused": false}}
	}`
	for _, path := range []string{
		"/api/scaler?queue=mail", "/api/scaler?source=jobs&queue=mail", "/api/scaler/jobs/mail", "/api/scaler/jobs?queue=mail",
	} {
		got := b.get(path)
		got.body = strings.NewReplacer(age.FindString(got.body), `"oldestSeconds":0`).Replace(got.body)
		got.wants(t, http.StatusOK, mail)
		if got.header.Get("Content-Type") != "application/json" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", got.header)
		}
	}

	var all struct {
		MetricName  string
		MetricValue json.Number
		PerQueue    map[string]struct {
			Pending, Ready int64
			Paused         bool
		}
		LiveWorkers, TotalCapacity int
	}
	got := b.get("/api/scaler")
	if err := json.Unmarshal([]byte(got.body), &all); err != nil {
		t.Fatal(err)
	}
	if all.MetricValue != "10" || len(all.PerQueue) != 2 || !all.PerQueue["video"].Paused || all.LiveWorkers != 3 || all.TotalCapacity != 6 {
		t.Errorf("all queues: %s", got.body)
	}
}

// What nobody knows is absent: a 0 would be a statement.
func TestWorkersAreAbsentWithoutARegistry(t *testing.T) {
	store := memory.New()
	store.Set("mail", memory.State{Running: 1})
	store.Set("none", memory.State{Running: 1, Pool: &driver.Pool{}})
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", store))
	for path, want := range map[string][3]bool{
		"/api/scaler/jobs/mail": {false, false, false},
		"/api/scaler/jobs/none": {true, true, false}, // a registry without anybody in it
	} {
		var fields map[string]any
		if err := json.Unmarshal([]byte(b.get(path).body), &fields); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"liveWorkers", "totalCapacity", "workerUtilization"} {
			if _, is := fields[name]; is != want[i] {
				t.Errorf("%s: %s is there: %v, want %v", path, name, is, want[i])
			}
		}
	}
}

func TestEveryKeyOfMetadataIsAQueryParameter(t *testing.T) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 7, Running: 3, Due: []time.Duration{30 * time.Second}})
	store.Set("mail-out", memory.State{Ready: 20})
	store.Set("team/mail", memory.State{Ready: 4})
	store.Set("idle", memory.State{Running: 1})
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", store))
	for query, want := range map[string]struct {
		value  json.Number
		active bool
		target json.Number
		name   string
	}{
		"?queue=mail&metric=ready":                             {"7", true, "10", "queue-jobs--mail--ready"},
		"?queue=mail&metric=ready&lookahead=1m":                {"8", true, "10", ""},
		"?queue=mail,mail-out":                                 {"30", true, "10", ""},
		"?queue=mail*&metric=ready":                            {"27", true, "10", ""},
		"?queue=mail&max=4":                                    {"4", true, "10", ""},
		"?queue=mail&activation=10":                            {"10", false, "10", ""},
		"?queue=mail&activationQueueDepth=9":                   {"10", true, "10", ""},
		"?queue=mail&target=2.5":                               {"10", true, "2.5", ""},
		"?queue=mail&targetQueueDepth=3":                       {"10", true, "3", ""},
		"?queue=mail&name=mine":                                {"10", true, "10", "mine"},
		"?queue=idle&activeWhileRunning=false":                 {"1", false, "10", ""},
		"?queue=nobody":                                        {"0", false, "10", ""}, // as KEDA is told
		"?queue=nobody&linger=5m":                              {"0", false, "10", ""},
		"?queue=team%2Fmail":                                   {"4", true, "10", ""},
		"/jobs/team%2Fmail":                                    {"4", true, "10", ""},
		"/jobs/team/mail":                                      {"4", true, "10", ""},
		"/jobs/mail,mail-out?metric=running":                   {"3", true, "10", ""},
		"?queueFromEnv=mail&scalerAddress=here&enableTLS=true": {"10", true, "10", ""}, // a trigger's metadata, pasted
	} {
		var got struct {
			MetricName       string
			MetricValue      json.Number
			IsActive         bool
			TargetQueueDepth json.Number
		}
		reply := b.get("/api/scaler" + query)
		if err := json.Unmarshal([]byte(reply.body), &got); err != nil || reply.status != http.StatusOK {
			t.Errorf("%s: %d %s", query, reply.status, reply.body)
			continue
		}
		if got.MetricValue != want.value || got.IsActive != want.active || got.TargetQueueDepth != want.target ||
			want.name != "" && got.MetricName != want.name {
			t.Errorf("%s: %+v, want %+v", query, got, want)
		}
	}
}

func TestRefusalsHaveAStatusAndAReason(t *testing.T) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 1})
	broken := memory.New()
	broken.Fail(errors.New("connection refused"))
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", store), source(t, "broken", broken))
	for _, tc := range []struct {
		path   string
		status int
		reason string
		text   string
	}{
		{"?source=jobs&queu=mail", 400, "invalid_argument", `"queue"`},
		{"?queue=mail", 400, "invalid_argument", "there are several sources"},
		{"?source=jobs&queue=", 400, "invalid_argument", "empty"},
		{"/jobs/", 400, "invalid_argument", "empty"},
		{"?source=jobs&target=0", 400, "invalid_argument", "target"},
		{"?source=jobs&queue=a&queue=b", 400, "invalid_argument", `"queue" is given 2 times`},
		{"?source=jobs&queue=%zz", 400, "invalid_argument", "cannot be read"},
		{"?source=jobs&queue=a;target=1", 400, "invalid_argument", "separate parameters by &"},
		{"/jobs/mail?queue=mail", 400, "invalid_argument", "in the path and in the query"},
		{"/jobs?source=jobs", 400, "invalid_argument", "in the path and in the query"},
		{"?source=jobs&metric=utilization", 400, "failed_precondition", "no registry of workers"},
		{"?source=jobs&host=db.example", 400, "invalid_argument", "host"}, // case 67
		{"?source=job", 404, "not_found", `"jobs"`},
		{"/job/mail", 404, "not_found", `"jobs"`},
		{"/broken/mail", 503, "unavailable", "connection refused"},
	} {
		got := b.get("/api/scaler" + tc.path)
		got.refused(t, tc.status, tc.reason, tc.text)
		if strings.Contains(got.body, "metricValue") { // case 27: never a value, and so never a 0
			t.Errorf("%s: %s", tc.path, got.body)
		}
	}
	b.get("/api/nothing").refused(t, 404, "not_found")
	b.get("/").refused(t, 404, "not_found")
	got := b.do(http.MethodPost, "/api/scaler?source=jobs", "")
	got.refused(t, 405, "method_not_allowed", "GET")
	if got.header.Get("Allow") != "GET" {
		t.Errorf("Allow: %q", got.header.Get("Allow"))
	}
}

// Case 72: a name of a megabyte is refused before anything is read of it.
func TestAVeryLongQueueNameIsRefused(t *testing.T) {
	store := memory.New()
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", store))
	b.get("/api/scaler?queue="+strings.Repeat("x", 10_000)).refused(t, 400, "invalid_argument", "longer than")
	if n := store.Reads(); n != 0 {
		t.Errorf("%d reads", n)
	}
}

func TestLastKnownValueAnswersUntilItIsStale(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		store.Set("mail", memory.State{Ready: 4})
		b := serve(t, scaler.Access{}, nil, source(t, "jobs", store))
		if got := b.direct("/api/scaler/jobs/mail"); got.status != 200 || strings.Contains(got.body, "staleReason") {
			t.Fatalf("%+v", got)
		}
		store.Fail(errors.New("connection refused"))
		time.Sleep(20 * time.Second)
		got := b.direct("/api/scaler/jobs/mail")
		if got.status != 200 || !strings.Contains(got.body, `"metricValue":4,`) || !strings.Contains(got.body, `"staleReason":"source \"jobs\": connection refused"`) {
			t.Errorf("after 20 s: %+v", got)
		}
		time.Sleep(20 * time.Second)
		b.direct("/api/scaler/jobs/mail").refused(t, 503, "unavailable", "connection refused")
		store.Fail(nil)
		time.Sleep(2 * time.Second)
		if got := b.direct("/api/scaler/jobs/mail"); got.status != 200 {
			t.Errorf("after the recovery: %+v", got)
		}
	})
}

// A source that hangs costs the caller the server's own timeout, less than the three seconds that KEDA gives.
func TestHangingSourceIsUnavailableInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, scaler.Access{}, nil, source(t, "jobs", hanging{}))
		began := time.Now()
		b.direct("/api/scaler/jobs/mail").refused(t, 503, "unavailable", "no answer in time")
		if took := time.Since(began); took > 2500*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

// hanging is a reader whose backend never answers.
type hanging struct{}

func (hanging) Read(ctx context.Context, _ driver.Request) (driver.Reading, error) {
	<-ctx.Done()
	return driver.Reading{}, ctx.Err()
}

func (hanging) Close() error { return nil }

func TestAnswerListsABoundedNumberOfQueues(t *testing.T) {
	store := memory.New()
	for i := range 1200 {
		store.Set(fmt.Sprintf("q%04d", i), memory.State{Ready: 1})
	}
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", store))
	var got struct {
		MetricValue     int
		PerQueue        map[string]any
		PerQueueLeftOut int
	}
	if err := json.Unmarshal([]byte(b.get("/api/scaler").body), &got); err != nil {
		t.Fatal(err)
	}
	if _, first := got.PerQueue["q0000"]; got.MetricValue != 1200 || len(got.PerQueue) != 1000 || got.PerQueueLeftOut != 200 || !first {
		t.Errorf("value %d, %d queues, %d left out", got.MetricValue, len(got.PerQueue), got.PerQueueLeftOut)
	}
}

// HTTP and KEDA's RPCs agree, and one who asks over HTTP shows among the triggers.
func TestAnswerIsThatOfGRPC(t *testing.T) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 12, Running: 1})
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", store))
	ref := &pb.ScaledObjectRef{Name: "worker", Namespace: "team", ScalerMetadata: map[string]string{"queue": "mail"}}
	values, err := b.keda().GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: ref})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		MetricName  string
		MetricValue float64
	}
	if err := json.Unmarshal([]byte(b.get("/api/scaler?queue=mail").body), &got); err != nil {
		t.Fatal(err)
	}
	if want := values.GetMetricValues()[0]; got.MetricValue != want.GetMetricValueFloat() || got.MetricName != want.GetMetricName() {
		t.Errorf("HTTP says %+v, gRPC %v", got, want)
	}
	if store.Reads() != 1 {
		t.Errorf("%d reads, want one sample for both", store.Reads())
	}
	id, err := b.server.Identify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	triggers := b.server.Triggers(id)
	if len(triggers) != 2 || triggers[0].Object != "GET /api/scaler" || triggers[0].Value != 13 || !triggers[0].Active {
		t.Errorf("triggers %+v", triggers)
	}
}
