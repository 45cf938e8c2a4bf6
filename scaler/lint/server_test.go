package lint_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/lint"
	"github.com/leadsman/leadsman/scaler/web"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

// serve starts a server over HTTP with two sources in memory, of which mail has workers, and returns its address.
func serve(t *testing.T) string {
	t.Helper()
	var sources []scaler.Source
	for _, name := range []string{"mail", "other"} {
		store := memory.New()
		store.Set("mail-out", memory.State{Ready: 3, Running: 1, Pool: &driver.Pool{Workers: 2, Capacity: 4}})
		source, err := storage.New(name, store)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, scaler.Source{Source: source})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	registry, log := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	server, err := scaler.New(scaler.Options{Sources: sources, Listener: listener, Logger: log, Metrics: registry})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := web.New(web.Options{Scaler: server, Gatherer: registry, Metrics: registry, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(handler)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		front.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return front.URL
}

func get(t *testing.T, address string) (status int, body []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}

// The series and labels that lint knows are those of a scrape, and the states too.
func TestSeriesAreThoseOfAScrape(t *testing.T) {
	t.Parallel()
	address := serve(t)
	get(t, address+"/api/scaler/mail/mail-out") // so that there are requests to tell of
	_, body := get(t, address+"/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	scraped, states := map[string][]string{}, map[string][]string{}
	for name, family := range families {
		if !strings.HasPrefix(name, "leadsman_") {
			continue
		}
		metric := family.GetMetric()[0]
		own := []string{}
		for _, label := range metric.GetLabel() {
			own = append(own, label.GetName())
		}
		suffixes := []string{""}
		if metric.GetHistogram() != nil {
			suffixes = []string{"_bucket", "_sum", "_count"}
		}
		for _, suffix := range suffixes {
			scraped[name+suffix] = slices.Clone(own)
			if suffix == "_bucket" {
				scraped[name+suffix] = append(slices.Clone(own), "le")
			}
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "state" && !slices.Contains(states[name], label.GetValue()) {
					states[name] = append(states[name], label.GetValue())
				}
			}
		}
	}
	sorted := func(all map[string][]string) map[string][]string {
		for name := range all {
			all[name] = slices.Sorted(slices.Values(all[name]))
		}
		return all
	}
	known, knownStates := lint.Series()
	// No read has failed and no queue is left out here, so that nothing tells of it.
	for _, name := range []string{"leadsman_queues_left_out", "leadsman_sample_errors_total"} {
		if _, ok := scraped[name]; !ok {
			delete(known, name)
		}
	}
	if diff := cmp.Diff(sorted(scraped), sorted(known)); diff != "" {
		t.Errorf("series (-scraped +known):\n%s", diff)
	}
	if diff := cmp.Diff(sorted(states), sorted(knownStates)); diff != "" {
		t.Errorf("states (-scraped +known):\n%s", diff)
	}
}

// The keys that lint knows are those of an answer.
func TestLocationsAreThoseOfAnAnswer(t *testing.T) {
	t.Parallel()
	_, body := get(t, serve(t)+"/api/scaler/mail/mail-out")
	var answer map[string]any
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var keys, queueKeys []string
	for key := range answer {
		keys = append(keys, key)
	}
	for key := range answer["perQueue"].(map[string]any)["mail-out"].(map[string]any) {
		queueKeys = append(queueKeys, key)
	}
	slices.Sort(keys)
	slices.Sort(queueKeys)
	known, knownOfQueue := lint.Locations()
	if diff := cmp.Diff([][]string{keys, queueKeys}, [][]string{known, knownOfQueue}); diff != "" {
		t.Errorf("(-answered +known):\n%s", diff)
	}
}

// A URL means to lint what it means to the server: the name of the metric says which source, queues and metric these are. What
// the server refuses, lint refuses.
func TestURLsAreReadAsTheServerReadsThem(t *testing.T) {
	t.Parallel()
	address := serve(t)
	for _, path := range []string{
		"/api/scaler?source=mail",
		"/api/scaler?source=mail&queue=mail-out&metric=ready",
		"/api/scaler?source=mail&queue=mail-*&api_key=x",
		"/api/scaler?source=mail&queue=team%2Fa+b",
		"/api/scaler/mail",
		"/api/scaler/mail?queue=mail-out,x",
		"/api/scaler/mail/mail-out",
		"/api/scaler/mail/team/a%20b",
		"/api/scaler/mail/team%2Fa%20b?metric=oldest",
		"/api/scaler/mail/a%2Cb",
		"/api/scaler/mail/",
		"/api/scaler/",
		"/api/scaler",
		"/api/scaler/nothing",
		"/api/scaler/mail?source=mail",
		"/api/scaler?source=mail&source=other",
		"/api/scaler?source=mail&queue=",
		"/api/scaler?source=mail&metric=none",
		"/api/scaler?source=mail&queue=%zz",
		"/api/scaler?source=mail;queue=a",
		"/api/scalers",
		"/api/scaler/%zz",
	} {
		status, body := 0, []byte(nil)
		if !strings.Contains(path, "/%zz") { // no client sends it
			status, body = get(t, address+path)
		}
		name, fault := lint.NameOf(address+path, []string{"mail", "other"})
		var answer struct{ MetricName string }
		if status == http.StatusOK {
			if err := json.Unmarshal(body, &answer); err != nil {
				t.Fatal(err)
			}
		}
		if name != answer.MetricName || (fault == "") != (status == http.StatusOK) {
			t.Errorf("%s: lint has %q and %q, the server %d %s", path, name, fault, status, body)
		}
	}
}
