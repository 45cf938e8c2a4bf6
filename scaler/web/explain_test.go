package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/web"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

// explainBed is a server with two sources, of which jobs has workers in some queues.
func explainBed(t *testing.T) (b *bed, jobs *memory.Store, id scaler.Identity) {
	t.Helper()
	jobs = memory.New()
	jobs.Set("mail", memory.State{Ready: 40, Running: 2, Due: []time.Duration{time.Hour}, Pool: &driver.Pool{Workers: 2, Capacity: 8}})
	jobs.Set("team/a b", memory.State{Ready: 7})
	jobs.Set("v1.2", memory.State{Ready: 3, Running: 1})
	jobs.Set("empty", memory.State{})
	b = serve(t, scaler.Access{}, nil, source(t, "jobs", jobs), source(t, "other", memory.New()))
	return b, jobs, anybody(t, b)
}

// anybody is a caller where nothing is locked.
func anybody(t *testing.T, b *bed) scaler.Identity {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	id, err := b.server.Identify(b.server.AdmitHTTP(request, scaler.ScopeInspect, true))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// at walks down a body, one key after the other.
func at(t *testing.T, body string, keys ...string) (float64, bool) {
	t.Helper()
	var here any
	if err := json.Unmarshal([]byte(body), &here); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, key := range keys {
		object, _ := here.(map[string]any)
		here = object[key]
	}
	n, ok := here.(float64)
	return n, ok
}

// What is explained is what the same server answers at that URL.
func TestExplainSaysWhatIsAnswered(t *testing.T) {
	b, _, id := explainBed(t)
	for _, c := range []struct {
		path, location string
		keys           []string
	}{
		{"/api/scaler/jobs/mail", "metricValue", []string{"metricValue"}},
		{"/api/scaler/jobs", "metricValue", []string{"metricValue"}},
		{"/api/scaler?source=jobs&queue=mail,v1.2&metric=ready&max=41", "metricValue", []string{"metricValue"}},
		{"/api/scaler/jobs/team/a%20b", "metricValue", []string{"metricValue"}},
		{"/api/scaler/jobs/nobody", "metricValue", []string{"metricValue"}},
		{"/api/scaler/jobs/mail?metric=utilization", "metricValue", []string{"metricValue"}},
		{"/api/scaler/jobs/mail", "workerUtilization", []string{"workerUtilization"}},
		{"/api/scaler/jobs/mail", "liveWorkers", []string{"liveWorkers"}},
		{"/api/scaler/jobs/mail?target=7", "targetQueueDepth", []string{"targetQueueDepth"}},
		{"/api/scaler/jobs/mail", "perQueue.mail.scheduled", []string{"perQueue", "mail", "scheduled"}},
		{"/api/scaler/jobs", `perQueue.v1\.2.running`, []string{"perQueue", "v1.2", "running"}},
		{"/api/scaler/jobs", "perQueue.team/a b.pending", []string{"perQueue", "team/a b", "pending"}},
		// What is no number there is an error to KEDA.
		{"/api/scaler/jobs/mail", "metricName", []string{"metricName"}},
		{"/api/scaler/jobs/mail", "isActive", []string{"isActive"}},
		{"/api/scaler/jobs/mail", "perQueue", []string{"perQueue"}},
		{"/api/scaler/jobs", "perQueue.v1.2.running", []string{"perQueue", "v1", "2", "running"}},
		{"/api/scaler/jobs/v1.2", "workerUtilization", []string{"workerUtilization"}},
		{"/api/scaler/jobs/mail", "perQueue.other.ready", []string{"perQueue", "other", "ready"}},
	} {
		answer := b.get(c.path)
		if answer.status != http.StatusOK {
			t.Fatalf("%s: %d %s", c.path, answer.status, answer.body)
		}
		want, isNumber := at(t, answer.body, c.keys...)
		for _, activation := range []float64{0, want, want - 1} {
			trigger := web.MetricsAPI{URL: "http://leadsman:8080" + c.path, Location: c.location, Target: 2.5, Activation: activation}
			got, err := web.Explain(t.Context(), b.server, id, trigger, scaler.Situation{})
			switch {
			case err != nil:
				t.Errorf("%s: %v", c.path, err)
			case !isNumber:
				if got.Err == nil || got.Replicas != 0 || !strings.Contains(got.Err.Error(), "valueLocation") {
					t.Errorf("%s at %s: %v, want an error", c.path, c.location, got)
				}
			case got.Err != nil || got.Value != want || got.Active != (want > activation):
				t.Errorf("%s at %s: %v, %v, active %v, want %v above %v", c.path, c.location, got.Err, got.Value, got.Active, want, activation)
			}
		}
	}
}

// What is refused is explained by what the same server answers.
func TestExplainNamesWhatIsRefused(t *testing.T) {
	b, _, id := explainBed(t)
	for _, path := range []string{
		"/api/scaler",
		"/api/scaler/job",
		"/api/scaler/jobs/",
		"/api/scaler/jobs?source=jobs",
		"/api/scaler?source=jobs&source=other",
		"/api/scaler?source=jobs&queue=%zz",
		"/api/scaler/jobs?metric=none&host=db",
		"/api/scaler/jobs?target=0",
	} {
		answer := b.get(path)
		var said struct{ Error, Reason string }
		if err := json.Unmarshal([]byte(answer.body), &said); err != nil {
			t.Fatalf("%s: %v", answer.body, err)
		}
		_, err := web.Explain(t.Context(), b.server, id, web.MetricsAPI{URL: b.http().URL + path, Location: "metricValue", Target: 1}, scaler.Situation{})
		want := fmt.Sprintf("url: it is answered %d %s: %s", answer.status, said.Reason, said.Error)
		if st := status.Convert(err); st.Code() != codes.InvalidArgument || st.Message() != want {
			t.Errorf("%s:\n%v\nwant\n%s", path, err, want)
		}
	}
}

// Where KEDA would get an error now, the reason is that of the answer, and there is no value.
func TestExplainOfWhatCannotBeAnswered(t *testing.T) {
	b, jobs, id := explainBed(t)
	explained := func(path string) scaler.Explanation {
		t.Helper()
		got, err := web.Explain(t.Context(), b.server, id, web.MetricsAPI{URL: path, Location: "metricValue", Target: 1}, scaler.Situation{})
		answer := b.get(path)
		var said struct{ Error, Reason string }
		if err := json.Unmarshal([]byte(answer.body), &said); err != nil {
			t.Fatalf("%s: %v", answer.body, err)
		}
		why := strings.Join(got.Why, "\n")
		if err != nil || got.Err == nil || !strings.Contains(why, fmt.Sprintf("is answered %d %s: %s", answer.status, said.Reason, said.Error)) {
			t.Errorf("%s: %v, %v\n%s\nand the answer is %d %s", path, got.Err, err, why, answer.status, answer.body)
		}
		return got
	}
	explained("/api/scaler/jobs/v1.2?metric=utilization") // no registry of workers
	jobs.Fail(driver.Errorf(driver.Unavailable, "the database is down"))
	if got := explained("/api/scaler/jobs/new?lookahead=1s"); got.Query.Source != "jobs" { // not among what was read before
		t.Errorf("%+v", got.Query)
	}
}

// KEDA's rule is value > activationTargetValue, whatever isActive is.
func TestExplainHasKEDAsOwnRuleAndTarget(t *testing.T) {
	b, _, id := explainBed(t)
	for _, c := range []struct {
		path            string
		trigger         web.MetricsAPI
		situation       scaler.Situation
		active          bool
		replicas        int32
		why, doesNotSay string
	}{
		{"/api/scaler/jobs/mail?target=100", web.MetricsAPI{Target: 5}, scaler.Situation{}, true, 9, "42 / target 5, rounded up, within 1 and 100: 9", "isActive"},
		{"/api/scaler/jobs/mail", web.MetricsAPI{Target: 5}, scaler.Situation{Max: 4}, true, 4, "within 1 and 4", "isActive"},
		{"/api/scaler/jobs/mail", web.MetricsAPI{Target: 5, Activation: 42}, scaler.Situation{Min: 2}, false, 2, "isActive is true in it, which KEDA does not read", ""},
		{"/api/scaler/jobs/mail?activation=100", web.MetricsAPI{Target: 50}, scaler.Situation{}, true, 1, "isActive is false in it", ""},
		{"/api/scaler/jobs/empty", web.MetricsAPI{Target: 5}, scaler.Situation{Current: 3}, false, 0, "0 is not greater than activationTargetValue 0", "isActive"},
		{"/api/scaler/jobs/empty", web.MetricsAPI{Target: 5, Activation: -1}, scaler.Situation{}, true, 1, "0 is greater than activationTargetValue -1", ""},
		{"/api/scaler/jobs/mail", web.MetricsAPI{Target: 84}, scaler.Situation{Current: 6, Multiplied: true}, true, 3, "6 × 42 / target 84", ""},
		{"/api/scaler/jobs/mail?token=hunter2&api_key=hunter2", web.MetricsAPI{Target: 5}, scaler.Situation{}, true, 9, "GET /api/scaler/jobs/mail is answered 200", "hunter2"},
	} {
		c.trigger.URL, c.trigger.Location = "http://any.host:1"+c.path, "metricValue"
		got, err := web.Explain(t.Context(), b.server, id, c.trigger, c.situation)
		why := strings.Join(got.Why, "\n")
		if err != nil || got.Err != nil || got.Active != c.active || got.Replicas != c.replicas || !strings.Contains(why, c.why) ||
			c.doesNotSay != "" && strings.Contains(why, c.doesNotSay) {
			t.Errorf("%s by %+v: %v, %v, active %v, %d replicas\n%s", c.path, c.trigger, err, got.Err, got.Active, got.Replicas, why)
		}
	}
	if left := b.server.Triggers(id); len(left) > 0 {
		t.Errorf("explaining has left triggers: %v", left)
	}
}

// GJSON's language can make much of little: what is not a path of keys is not tried out, and said to be so.
func TestExplainTriesNoLanguageOut(t *testing.T) {
	b, _, id := explainBed(t)
	for _, location := range []string{"", "perQueue.@values", "perQueue|mail", "perQueue.*.ready", "[@this,@this]|[@this,@this]", "perQueue.m?il.ready"} {
		got, err := web.Explain(t.Context(), b.server, id, web.MetricsAPI{URL: "/api/scaler/jobs/mail", Location: location, Target: 1}, scaler.Situation{})
		if err != nil || got.Err == nil || !strings.Contains(got.Err.Error(), "write metricValue") {
			t.Errorf("%q: %v, %v", location, got.Err, err)
		}
	}
	for _, where := range []string{"http://a b/api/scaler", "http://leadsman:8080/api/scalers", "http://leadsman:8080/metrics", ""} {
		if _, err := web.Explain(t.Context(), b.server, id, web.MetricsAPI{URL: where, Location: "metricValue", Target: 1}, scaler.Situation{}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%q: %v", where, err)
		}
	}
}
