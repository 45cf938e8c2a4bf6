package lint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/internal/kube"
	"github.com/leadsman/leadsman/scaler/lint"
)

// read reads the first trigger of a manifest.
func read(t *testing.T, text string) lint.Reading {
	t.Helper()
	documents := kube.Read([]byte(text))
	if len(documents) != 1 || documents[0].Err != nil || len(documents[0].Objects) != 1 {
		t.Fatalf("%+v", documents)
	}
	return lint.Read(documents[0].Objects[0], 0)
}

func TestAReadingIsWhatKEDAAsks(t *testing.T) {
	t.Parallel()
	got := read(t, but(t, overHTTP, `targetValue: "5"`, "targetValue: \"5\"\n        activationTargetValue: \"-2.5\""))
	want := lint.Reading{
		Ours: true, URL: "http://leadsman-http.leadsman.svc:8080" + query, Location: "metricValue", Target: 5, Activation: -2.5,
		Asks: "KEDA asks for ready+running of mail-out in source mail, and is active above 0; outstanding over 5 is the number of replicas",
		Notes: []string{
			"activationTargetValue: -2.5 is below 0, which is always exceeded: the workload never goes to zero; write \"0\", or remove it",
			"type: is metrics-api: at zero replicas a job waits for the next poll, up to 30 s (pollingInterval, by default); " +
				"where that is too long, use a trigger of type external-push, which wakes at once",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A token in a URL goes nowhere.
func TestAReadingHasNoToken(t *testing.T) {
	t.Parallel()
	for _, with := range []string{"target=5&token=hunter2\n", "api_key=hunter2&target=5\n"} {
		got := read(t, but(t, but(t, overHTTP, "target=5\n", with), "http://", "http://user:hunter2@"))
		if strings.Contains(got.URL+strings.Join(got.Notes, " "), "hunter2") || !strings.Contains(got.URL, "queue=mail-out") {
			t.Errorf("%+v", got)
		}
	}
}

// What KEDA refuses is told apart from what it takes and does harm.
func TestAReadingSaysWhatKEDARefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, instead, refused, note string }{
		"no target":           {`targetValue: "5"`, `timeout: 3s`, "targetValue: is missing", ""},
		"no text":             {`targetValue: "5"`, `targetValue: 5`, "targetValue: is no text", ""},
		"no number":           {`authModes: bearer`, "authModes: bearer\n        activationTargetValue: x", "activationTargetValue: \"x\" is no number", ""},
		"no location":         {`valueLocation: metricValue`, `timeout: 3s`, "valueLocation: is missing", ""},
		"nothing there":       {`valueLocation: metricValue`, `valueLocation: metricvalue`, "write metricValue", ""},
		"no number there":     {`valueLocation: metricValue`, `valueLocation: isActive`, "valueLocation: is no number", ""},
		"another format":      {`authModes: bearer`, "authModes: bearer\n        format: xml", "format: \"xml\"", ""},
		"no such path":        {query, "/api/scalers", "there is nothing of leadsman's at", ""},
		"a bad escape":        {"queue=mail-out", "queue=%zz", "the query string cannot be read", ""},
		"Utilization":         {"AverageValue", "Utilization", "metricType: Utilization", ""},
		"for the server":      {"source=mail", "source=mial&metric=none", "", "type: is metrics-api"},
		"workers":             {`valueLocation: metricValue`, `valueLocation: liveWorkers`, "", "replicas would follow themselves"},
		"another target":      {"target=5\n", "target=50\n", "", "leadsman's page shows other replicas"},
		"activation":          {"target=5\n", "target=5&activation=3\n", "", "url: activation is for isActive"},
		"nothing to show":     {"      authenticationRef: {name: leadsman}\n", "", "", "there is no authenticationRef"},
		"an age, averaged":    {"target=5\n", "target=5&metric=oldest\n", "", "metricType: is AverageValue"},
		"its pollingInterval": {"minReplicaCount: 0", "pollingInterval: 7", "", "up to 7 s (pollingInterval);"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(t, but(t, overHTTP, c.old, c.instead))
			notes := strings.Join(got.Notes, "\n")
			if !got.Ours || (got.Refused == "") != (c.refused == "") || !strings.Contains(got.Refused, c.refused) || !strings.Contains(notes, c.note) {
				t.Errorf("refused %q, notes\n%s", got.Refused, notes)
			}
			if c.refused != "" && strings.Contains(notes, c.refused) {
				t.Errorf("it is said twice:\n%s", notes)
			}
		})
	}
	if got := read(t, but(t, overHTTP, "leadsman-http.leadsman.svc:8080"+query, "other/value")); !cmp.Equal(got, lint.Reading{}) {
		t.Errorf("another's URL: %+v", got)
	}
	if got := read(t, scaledObject); !cmp.Equal(got, lint.Reading{}) {
		t.Errorf("what is told by gRPC: %+v", got)
	}
}

// Who wakes otherwise, or never sleeps, waits for no poll.
func TestAReadingSaysHowTheWorkloadWakes(t *testing.T) {
	t.Parallel()
	const waits = "waits for the next poll"
	pushed := overHTTP + "    - {type: external-push, metadata: {scalerAddress: \"leadsman:50051\"}}\n"
	job := but(t, scaledJob, `    - type: external
      metadata: {scalerAddress: "leadsman:50051", queue: video, metric: ready, target: "1"}`, `    - type: metrics-api
      metadata: {url: "http://leadsman:8080/api/scaler?queue=video&metric=ready&target=1", valueLocation: metricValue, targetValue: "1"}`)
	for text, want := range map[string]bool{
		overHTTP: true, pushed: false, but(t, overHTTP, "minReplicaCount: 0", "minReplicaCount: 1"): false, job: true,
	} {
		if notes := strings.Join(read(t, text).Notes, "\n"); strings.Contains(notes, waits) != want {
			t.Errorf("want %v of\n%s\nnotes\n%s", want, text, notes)
		}
	}
}

// Of what Prometheus reads, it is said what that is.
func TestAReadingOfSeries(t *testing.T) {
	t.Parallel()
	const byPrometheus = `
kind: ScaledObject
spec:
  triggers:
    - type: prometheus
      metadata:
        serverAddress: http://prometheus:9090
        query: sum(max by (queue, state) (leadsman_queue_jobs{source="mail",queue="mail-out",state=~"ready|running"}))
        threshold: "5"
        ignoreNullValues: "false"
`
	got := read(t, byPrometheus)
	const asks = `KEDA asks for outstanding of queue="mail-out" in source="mail", and is active above 0; outstanding over 5 is the number of replicas`
	if !got.Ours || got.URL != "" || got.Refused != "" || got.Asks != asks {
		t.Errorf("%+v", got)
	}
	if text := got.Series("prometheus"); !strings.Contains(text, "KEDA asks Prometheus") || !strings.Contains(text, asks) {
		t.Error(text)
	}
	scrape := but(t, but(t, overHTTP, query, "/metrics"), "valueLocation: metricValue",
		"valueLocation: 'leadsman_queue_jobs{source=\"mail\",queue=\"mail-out\",state=\"ready\"}'\n        format: prometheus")
	got = read(t, scrape)
	if !got.Ours || got.URL != "" || !strings.Contains(got.Series("metrics-api"), `/metrics, as Prometheus does: KEDA asks for ready of queue="mail-out" in source="mail"`) {
		t.Errorf("%+v", got)
	}
	// One that costs much to look at is not.
	long := read(t, but(t, byPrometheus, "leadsman_queue_jobs{", strings.Repeat("leadsman_workers + ", 500)+"leadsman_queue_jobs{"))
	if !long.Ours || long.Asks != "" || !strings.Contains(strings.Join(long.Notes, " "), "longer than") {
		t.Errorf("%+v", long)
	}
}
