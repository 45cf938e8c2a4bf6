package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/memory"
)

func decodeInto(tb testing.TB, data []byte, into any) {
	tb.Helper()
	if err := json.Unmarshal(data, into); err != nil {
		tb.Fatalf("%s: %v", data, err)
	}
}

// explain sends the form and returns the answer, and the status.
func (b *bed) explain(form explainForm, headers ...string) (explained, string, int) {
	b.t.Helper()
	body, err := json.Marshal(form)
	if err != nil {
		b.t.Fatal(err)
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/page/explain", strings.NewReader(string(body)))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	b.handler.ServeHTTP(w, r)
	var out explained
	decodeInto(b.t, w.Body.Bytes(), &out)
	return out, w.Body.String(), w.Code
}

const scaledObject = `apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: mailer, namespace: team-mail}
spec:
  scaleTargetRef: {name: mailer}
  minReplicaCount: 1
  maxReplicaCount: 3
  triggers:
    - type: cpu
      metricType: Utilization
      metadata: {value: "60"}
    - type: external-push
      metadata: {scalerAddress: "leadsman:50051", source: jobs, queue: mail, target: "5"}
`

func TestExplainSaysWhatKEDAWouldBeTold(t *testing.T) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 40, Running: 2})
	b := serve(t, scaler.Access{}, source(t, "jobs", store))
	got, body, code := b.explain(explainForm{Text: scaledObject, Current: 2})
	if code != http.StatusOK || len(got.Objects) != 1 || len(got.Objects[0].Triggers) != 2 {
		t.Fatalf("%d %s", code, body)
	}
	object := got.Objects[0]
	if object.Kind != "ScaledObject" || object.Namespace != "team-mail" || object.Name != "mailer" {
		t.Errorf("object %+v", object)
	}
	if cpu := object.Triggers[0]; !strings.Contains(cpu.Skipped, "cpu") || cpu.Value != nil || cpu.Error != "" {
		t.Errorf("cpu %+v", cpu)
	}
	push := object.Triggers[1]
	if push.Path != "spec.triggers[1]" || *push.Value != 42 || !*push.Active || *push.Replicas != 3 || push.Query.Target != 5 ||
		len(push.Queues) != 1 || push.Queues[0].Ready != 40 {
		t.Errorf("trigger %+v", push)
	}
	if why := strings.Join(push.Why, "\n"); !strings.Contains(why, "within 1 and 3: 3 (now 2)") {
		t.Errorf("why:\n%s", why)
	}
}

const overHTTP = `kind: ScaledObject
metadata: {name: mailer, namespace: team-mail}
spec:
  scaleTargetRef: {name: mailer}
  pollingInterval: 10
  triggers:
    - type: metrics-api
      authenticationRef: {name: leadsman}
      metadata: {url: "http://leadsman-http:8080%s", valueLocation: metricValue, targetValue: "5", activationTargetValue: "1", authModes: bearer}
    - type: prometheus
      metadata: {serverAddress: "http://prometheus:9090", query: 'max(leadsman_queue_oldest_seconds{queue="mail"})', threshold: "60"}
`

// What is explained of a trigger that asks over HTTP is what the same server answers there.
func TestExplainAgreesWithHTTP(t *testing.T) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 40, Running: 2})
	store.Set("one", memory.State{Ready: 1})
	b := serve(t, scaler.Access{}, source(t, "jobs", store))
	for _, path := range []string{"/api/scaler/jobs/mail?target=5", "/api/scaler?queue=mail&metric=ready", "/api/scaler/jobs/one", "/api/scaler/job", "/api/scaler?queue="} {
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		var answer struct {
			MetricValue float64
			Error       string
		}
		decodeInto(t, w.Body.Bytes(), &answer)
		got, body, _ := b.explain(explainForm{Text: fmt.Sprintf(overHTTP, path)})
		if len(got.Objects) != 1 || len(got.Objects[0].Triggers) != 2 {
			t.Fatal(body)
		}
		trigger, series := got.Objects[0].Triggers[0], got.Objects[0].Triggers[1]
		if !strings.Contains(series.Skipped, `KEDA asks Prometheus, which has it from leadsman's last scrape: KEDA asks for oldest of queue="mail"`) {
			t.Errorf("series %+v", series)
		}
		if w.Code != http.StatusOK {
			if want := fmt.Sprintf("url: it is answered %d ", w.Code); !strings.Contains(trigger.Error, want) || !strings.Contains(trigger.Error, answer.Error) || trigger.Value != nil {
				t.Errorf("%s: %+v, want %s…: %s", path, trigger, want, answer.Error)
			}
			continue
		}
		if trigger.Error != "" || trigger.Value == nil || *trigger.Value != answer.MetricValue || *trigger.Active != (answer.MetricValue > 1) || trigger.Target != 5 {
			t.Errorf("%s: %+v, and the answer is %s", path, trigger, w.Body)
		}
		if remarks := strings.Join(trigger.Remarks, "\n"); !strings.Contains(remarks, "waits for the next poll, up to 10 s (pollingInterval)") {
			t.Errorf("remarks:\n%s", remarks)
		}
	}
	got, body, _ := b.explain(explainForm{Text: "url: http://leadsman/api/scaler/jobs/mail?token=hunter2\nvalueLocation: perQueue.mail.running\ntargetValue: 1"})
	if trigger := got.Objects[0].Triggers[0]; trigger.Type != "metrics-api" || trigger.Value == nil || *trigger.Value != 2 || *trigger.Replicas != 2 || strings.Contains(body, "hunter2") {
		t.Error(body)
	}
}

// By metricType Value, the HPA multiplies the replicas there are; another is refused.
func TestExplainKnowsTheMetricType(t *testing.T) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 30})
	b := serve(t, scaler.Access{}, source(t, "jobs", store))
	const text = "type: external\nmetricType: %s\nmetadata: {queue: mail}"
	got, body, _ := b.explain(explainForm{Text: fmt.Sprintf(text, "Value"), Current: 4})
	if trigger := got.Objects[0].Triggers[0]; trigger.Replicas == nil || *trigger.Replicas != 12 {
		t.Error(body)
	}
	got, body, _ = b.explain(explainForm{Text: fmt.Sprintf(text, "Utilization")})
	if trigger := got.Objects[0].Triggers[0]; !strings.HasPrefix(trigger.Error, "metricType") || trigger.Value != nil {
		t.Error(body)
	}
}

// It is the parser of KEDA's calls that speaks, so a mistake is found here before KEDA finds it.
func TestExplainNamesTheKeyThatIsWrong(t *testing.T) {
	store := memory.New()
	b := serve(t, scaler.Access{}, source(t, "jobs", store))
	for text, want := range map[string]string{
		"queu: mail":               `"queue"`,
		"target: 0":                "target",
		"source: job":              `"jobs"`,
		"metric=utilisation":       "metric",
		"queue: mail\nhost: db":    "host",
		"metric: utilization":      "no registry of workers",
		"linger: soon\ntarget: no": "linger",
	} {
		got, body, code := b.explain(explainForm{Text: text})
		if code != http.StatusOK || len(got.Objects) != 1 || !strings.Contains(got.Objects[0].Triggers[0].Error, want) || got.Objects[0].Triggers[0].Value != nil {
			t.Errorf("%q: %d %s, want an error with %s", text, code, body, want)
		}
	}
}

func TestExplainRefusesWhatItCannotRead(t *testing.T) {
	b := serve(t, scaler.Access{}, source(t, "jobs", memory.New()))
	for text, want := range map[string]string{
		"":                               "there is no ScaledObject",
		"kind: Deployment":               "there is no ScaledObject",
		"some words":                     "there is no ScaledObject",
		"- 1":                            "triggers",
		"kind: ScaledObject\n\tspec: {}": "line 2",
		"a: 1\nb: {}\na: 2":              `"a"`,
		"queue: a\nqueue: b":             "queue: is there twice",
		"kind: ScaledObject\nspec: yes":  "spec",
		"spec: {minReplicaCount: many}":  "spec.minReplicaCount",
		"kind: ScaledObject\nspec: {minReplicaCount: 5, maxReplicaCount: 2}": "spec.maxReplicaCount: 2 is below",
		"kind: ScaledObject\nspec: {minReplicaCount: -1}":                    "spec.minReplicaCount",
		strings.Repeat("---\n"+scaledObject, 26):                             "there are 52 triggers",
		strings.Repeat("#", maxForm):                                         "may hold",
	} {
		if _, body, code := b.explain(explainForm{Text: text}); code != http.StatusBadRequest || !strings.Contains(body, strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%.40q: %d %s, want 400 with %s", text, code, body, want)
		}
	}
	if _, body, code := b.explain(explainForm{Text: "queue: a", Current: -1}); code != http.StatusBadRequest || !strings.Contains(body, "replicas now") {
		t.Errorf("%d %s", code, body)
	}
}

// Ignorance is no zero.
func TestExplainOfASourceThatFailsHasNoValue(t *testing.T) {
	store := memory.New()
	store.Fail(errors.New("connection refused"))
	b := serve(t, scaler.Access{}, source(t, "jobs", store))
	got, body, _ := b.explain(explainForm{Text: "queue: mail"})
	trigger := got.Objects[0].Triggers[0]
	if !strings.Contains(trigger.Error, "connection refused") || trigger.Value != nil || trigger.Active != nil || trigger.Replicas != nil || len(trigger.Why) == 0 {
		t.Error(body)
	}
}

func TestExplainKeepsToTheGrantAndSaysNoToken(t *testing.T) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 1})
	some, grant := mint(t, scaler.Grant{ID: "some", Queues: []string{"mail"}, Namespaces: []string{"team"}})
	b := serve(t, scaler.Access{Tokens: []scaler.Token{grant}}, source(t, "jobs", store))
	if _, _, code := b.explain(explainForm{Text: "queue: mail"}); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d", code)
	}
	as := []string{"Authorization", "Bearer " + some}
	for _, tc := range []struct{ text, namespace, refusal string }{
		{"queue: mail", "team", ""},
		{"queue: secret", "team", "secret"},
		{"queue: mail", "other", "namespace"},
		{"queue: mail\ntoken: ldm_other_hunter2", "team", ""},
		{"queue: mail\ntokenFromEnv: hunter2", "team", ""},
	} {
		got, body, code := b.explain(explainForm{Text: tc.text, Namespace: tc.namespace}, as...)
		if code != http.StatusOK || strings.Contains(body, "hunter2") {
			t.Errorf("%+v: %d %s", tc, code, body)
			continue
		}
		if refusal := got.Objects[0].Triggers[0].Error; (refusal == "") != (tc.refusal == "") || !strings.Contains(refusal, tc.refusal) {
			t.Errorf("%+v: %q", tc, refusal)
		}
	}
}

func TestExplainOfAHangingSourceIsAnsweredInTime(t *testing.T) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 1})
	b := serve(t, scaler.Access{}, source(t, "jobs", store), source(t, "stuck", hanging{}))
	began := time.Now()
	got, body, _ := b.explain(explainForm{Text: "triggers:\n- {type: external, metadata: {source: stuck}}\n- {type: external, metadata: {source: jobs}}"})
	if len(got.Objects[0].Triggers) != 2 || got.Objects[0].Triggers[0].Error == "" || got.Objects[0].Triggers[1].Value == nil {
		t.Error(body)
	}
	if took := time.Since(began); took > explainWithin {
		t.Errorf("it took %v", took)
	}
}
