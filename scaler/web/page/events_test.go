package page

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/web"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/memory"
)

func TestStreamTellsWhatThereIsAndWhatChanges(t *testing.T) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 3, Running: 1, Due: []time.Duration{time.Hour}})
	b := serve(t, scaler.Access{}, source(t, "jobs", store, storage.WithTraits(storage.Traits{Engine: "memory", Preset: "none", Location: "here"})))
	b.settle() // a source that is read between its event and that of its queues would have them told in the other order
	loopback := b.loopback()
	r := open(t, loopback.Client(), loopback.URL)

	if got := until(r, "caller", func(caller) bool { return true }); got.Name != "anyone" {
		t.Errorf("caller %q", got.Name)
	}
	sources := until(r, "sources", func(s []sourceView) bool { return s[0].State == scaler.SourceReady })
	if s := sources[0]; s.Name != "jobs" || s.Engine != "memory" || s.Location != "here" || s.PushMode != "direct" || s.Read == 0 {
		t.Errorf("source %+v", s)
	}
	q, _ := func() (queueView, bool) {
		v := until(r, "queues", hasReady("mail", 3))
		return v.queue("mail")
	}()
	if q.Running != 1 || q.Scheduled != 1 || q.Waits == 0 || time.Until(time.UnixMilli(q.Due)).Round(time.Minute) != time.Hour || q.Workers != nil {
		t.Errorf("queue %+v", q)
	}
	store.Enqueue("mail", 2)
	until(r, "queues", hasReady("mail", 5))

	b.poll(b.keda(), &pb.ScaledObjectRef{Namespace: "team", Name: "worker", ScalerMetadata: map[string]string{"queue": "mail", "target": "4"}})
	triggers := until(r, "triggers", func(v triggersView) bool { return len(v.Triggers) > 0 && v.Triggers[0].Replicas != nil })
	if got := triggers.Triggers[0]; got.Namespace != "team" || got.Object != "worker" || *got.Value != 6 || !*got.Active || *got.Replicas != 2 {
		t.Errorf("trigger %+v", got)
	}
}

// What could not be read is not there, and never 0.
func TestStreamTellsThatASourceFails(t *testing.T) {
	store := memory.New()
	store.Fail(errors.New("connection refused"))
	good := memory.New()
	good.Set("mail", memory.State{Ready: 1})
	b := serve(t, scaler.Access{}, source(t, "broken", store), source(t, "good", good))
	loopback := b.loopback()
	r := open(t, loopback.Client(), loopback.URL)
	got := until(r, "sources", func(s []sourceView) bool { return s[0].State == scaler.SourceFailing })
	if !strings.Contains(got[0].Error, "connection refused") || got[0].Read != 0 || got[1].State == scaler.SourceFailing {
		t.Errorf("sources %+v", got)
	}
	if v := until(r, "queues", func(queuesView) bool { return true }); v.Source == "broken" && len(v.Queues) != 0 {
		t.Errorf("queues %+v", v)
	}
}

func TestStreamShowsWhatIsGrantedAndNoMore(t *testing.T) {
	mail, other := memory.New(), memory.New()
	mail.Set("mail-a", memory.State{Ready: 1})
	mail.Set("secret", memory.State{Ready: 1})
	other.Set("mail-b", memory.State{Ready: 1})
	some, grant := mint(t, scaler.Grant{
		ID: "some", Scopes: []scaler.Scope{scaler.ScopeInspect}, Sources: []string{"mail"}, Queues: []string{"mail-*"}, Namespaces: []string{"team"},
	})
	every, all := mint(t, scaler.Grant{ID: "all"})
	b := serve(t, scaler.Access{Tokens: []scaler.Token{grant, all}}, source(t, "mail", mail), source(t, "other", other))
	loopback := b.loopback()
	keda := b.keda()
	for _, ref := range []*pb.ScaledObjectRef{
		{Namespace: "team", Name: "mine", ScalerMetadata: map[string]string{"source": "mail", "queue": "mail-a", "token": every}},
		{Namespace: "team", Name: "theirs", ScalerMetadata: map[string]string{"source": "mail", "queue": "secret", "token": every}},
		{Namespace: "elsewhere", Name: "theirs", ScalerMetadata: map[string]string{"source": "mail", "queue": "mail-a", "token": every}},
	} {
		b.poll(keda, ref)
	}
	whole := open(t, loopback.Client(), loopback.URL, "Authorization", "Bearer "+every)
	until(whole, "triggers", func(v triggersView) bool { return len(v.Triggers) == 3 })
	b.page.history.record("mail", b.server.Held("mail"))

	r := open(t, loopback.Client(), loopback.URL, "X-API-KEY", some)
	if got := until(r, "sources", func([]sourceView) bool { return true }); len(got) != 1 || got[0].Name != "mail" {
		t.Errorf("sources %+v", got)
	}
	if got := until(r, "queues", func(v queuesView) bool { return len(v.Queues) > 0 }); len(got.Queues) != 1 || got.Queues[0].Name != "mail-a" {
		t.Errorf("queues %+v", got)
	}
	if got := until(r, "triggers", func(triggersView) bool { return true }); len(got.Triggers) != 1 || got.Triggers[0].Object != "mine" {
		t.Errorf("triggers %+v", got)
	}
	if got := until(r, "history", func(pastView) bool { return true }); len(got.Series) != 1 || got.Series[0].Queue != "mail-a" {
		t.Errorf("history %+v", got)
	}
}

func TestStreamAsksForScopeInspect(t *testing.T) {
	reader, grant := mint(t, scaler.Grant{ID: "keda", Scopes: []scaler.Scope{scaler.ScopeRead}})
	b := serve(t, scaler.Access{Tokens: []scaler.Token{grant}}, source(t, "jobs", memory.New()))
	for header, want := range map[string]int{"": 401, "Bearer ldm_wrong_wrong": 401, "Bearer " + reader: 403} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/page/events", http.NoBody)
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		b.handler.ServeHTTP(w, r)
		if w.Code != want || !strings.Contains(w.Body.String(), `"error":"`) || strings.Contains(w.Body.String(), reader) {
			t.Errorf("%q: %d %s, want %d", header, w.Code, w.Body, want)
		}
	}
}

func TestStreamEndsWithThePermission(t *testing.T) {
	token, grant := mint(t, scaler.Grant{ID: "person"})
	_, other := mint(t, scaler.Grant{ID: "other"})
	b := serve(t, scaler.Access{Tokens: []scaler.Token{grant}}, source(t, "jobs", memory.New()))
	loopback := b.loopback()
	r := open(t, loopback.Client(), loopback.URL, "Authorization", "Bearer "+token)
	until(r, "caller", func(c caller) bool { return strings.Contains(c.Name, "person") })
	if err := b.server.SetAccess(scaler.Access{Tokens: []scaler.Token{other}}); err != nil {
		t.Fatal(err)
	}
	until(r, "end", func(f failure) bool { return f.Error != "" })
	for e := range r.events { // nothing comes after it, and the connection is closed
		t.Errorf("after the end: %s", e.Name)
	}
}

func TestStreamsEndWhenTheServerDrains(t *testing.T) {
	b := serve(t, scaler.Access{}, source(t, "jobs", memory.New()))
	loopback := b.loopback()
	r := open(t, loopback.Client(), loopback.URL)
	until(r, "caller", func(caller) bool { return true })
	b.stop()
	until(r, "end", func(f failure) bool { return strings.Contains(f.Error, "the server ends") })
	for range r.events {
		t.Error("an event after the end")
	}
}

func TestStreamsAreBounded(t *testing.T) {
	b := serve(t, scaler.Access{}, source(t, "jobs", memory.New()))
	loopback := b.loopback()
	var last *reading
	for range maxStreams {
		last = open(t, loopback.Client(), loopback.URL)
	}
	resp, err := loopback.Client().Get(loopback.URL + "/page/events")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Fatalf("one too many: %d %v", resp.StatusCode, resp.Header)
	}
	last.cancel()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if resp, err = loopback.Client().Get(loopback.URL + "/page/icon.svg"); err != nil { // the bound is the streams' alone
			t.Fatal(err)
		}
		resp.Body.Close()
		if len(b.page.slots) < maxStreams {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("a stream that has gone keeps its place")
		}
	}
	open(t, loopback.Client(), loopback.URL)
}

// A listener's timeouts are those of requests that end.
func TestStreamOutlivesTheServersTimeouts(t *testing.T) {
	t.Run("HTTP/1.1", func(t *testing.T) { outlivesTimeouts(t, false) })
	t.Run("HTTP/2", func(t *testing.T) { outlivesTimeouts(t, true) })
}

func outlivesTimeouts(t *testing.T, http2 bool) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 1})
	b := serve(t, scaler.Access{}, source(t, "jobs", store))
	loopback := httptest.NewUnstartedServer(b.handler)
	const limit = 2 * time.Second // a handshake on a busy machine is within it
	loopback.Config.ReadTimeout, loopback.Config.WriteTimeout = limit, limit
	if loopback.EnableHTTP2 = http2; http2 {
		loopback.StartTLS()
	} else {
		loopback.Start()
	}
	t.Cleanup(loopback.Close)
	r := open(t, loopback.Client(), loopback.URL)
	for n := int64(2); n < 4; n++ {
		began := time.Now()
		until(r, "sources", func([]sourceView) bool { return time.Since(began) > limit })
		store.Enqueue("mail", 1)
		until(r, "queues", hasReady("mail", n))
	}
}

func TestStreamShowsABoundedNumberOfQueues(t *testing.T) {
	store := memory.New()
	for i := range maxQueues + 50 {
		store.Set(fmt.Sprintf("q%04d", i), memory.State{Ready: 1})
	}
	b := serve(t, scaler.Access{}, source(t, "jobs", store))
	named := fmt.Sprintf("q%04d", maxQueues+49)
	b.poll(b.keda(), &pb.ScaledObjectRef{Name: "worker", ScalerMetadata: map[string]string{"queue": named}})
	loopback := b.loopback()
	r := open(t, loopback.Client(), loopback.URL)
	got := until(r, "queues", func(v queuesView) bool { return v.LeftOut > 0 })
	_, there := got.queue(named)
	if len(got.Queues) != maxQueues || got.LeftOut != 50 || !there {
		t.Errorf("%d queues, %d left out, the one that a trigger names is there: %v", len(got.Queues), got.LeftOut, there)
	}
	if !slices.ContainsFunc(got.Queues, func(q queueView) bool { return q.Name == "q0000" }) {
		t.Error("the first is not there")
	}
}

// With http.auth none, nobody is asked for a token.
func TestPageForEverybodyAsksForNoToken(t *testing.T) {
	_, grant := mint(t, scaler.Grant{ID: "somebody", Sources: []string{"other"}})
	b := serve(t, scaler.Access{Tokens: []scaler.Token{grant}}, source(t, "jobs", memory.New()))
	b.page.everybody = true
	loopback := b.loopback()
	r := open(t, loopback.Client(), loopback.URL)
	if got := until(r, "caller", func(caller) bool { return true }); got.Name != "anyone" {
		t.Errorf("caller %q", got.Name)
	}
	if got := until(r, "sources", func([]sourceView) bool { return true }); len(got) != 1 {
		t.Errorf("sources %+v", got)
	}
}

// How long somebody looks says nothing of how long requests take.
func TestStreamIsCountedAndNotTimed(t *testing.T) {
	b := serve(t, scaler.Access{}, source(t, "jobs", memory.New()))
	registry := prometheus.NewPedanticRegistry()
	handler, err := web.New(web.Options{Scaler: b.server, Page: b.page, Metrics: registry, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/page/events", http.NoBody))
	got := map[string]float64{}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			got[family.GetName()] += metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	if got["leadsman_http_requests_total"] != 1 || got["leadsman_http_request_duration_seconds"] != 0 {
		t.Errorf("metrics %v", got)
	}
}
