package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"google.golang.org/grpc/test/bufconn"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/web"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A bed is a server that a test asks over HTTP.
type bed struct {
	t        testing.TB
	server   *scaler.Server
	listener *bufconn.Listener // of gRPC
	handler  http.Handler
	log      *journal
	stop     func() // ends gRPC; may be called again

	http func() *httptest.Server // on loopback, from the first use
}

// serve starts a server with these access rules; change may be nil. It is stopped, and has to stop well, when the test
// ends.
func serve(tb testing.TB, access scaler.Access, change func(*web.Options, *scaler.Options), sources ...scaler.Source) *bed {
	tb.Helper()
	b := &bed{t: tb, listener: bufconn.Listen(64 << 10), log: &journal{}}
	log := slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	registry := prometheus.NewPedanticRegistry()
	opts := scaler.Options{Sources: sources, Listener: b.listener, Access: access, Metrics: registry, Logger: log}
	shown := web.Options{Gatherer: registry, Metrics: registry, Logger: log}
	if change != nil {
		change(&shown, &opts)
	}
	var err error
	if b.server, err = scaler.New(opts); err != nil {
		tb.Fatal(err)
	}
	shown.Scaler = b.server
	if b.handler, err = web.New(shown); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.server.Run(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("Run = %v", err)
		}
	})
	tb.Cleanup(b.stop)
	b.http = sync.OnceValue(func() *httptest.Server {
		loopback := httptest.NewServer(b.handler)
		tb.Cleanup(loopback.Close)
		return loopback
	})
	return b
}

// source makes a source as the server takes it.
func source(tb testing.TB, name string, reader driver.Reader, opts ...storage.Option) scaler.Source {
	tb.Helper()
	s, err := storage.New(name, reader, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return scaler.Source{Source: s}
}

// A reply is an answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// get asks over loopback; headers are given as key, value and so on.
func (b *bed) get(path string, headers ...string) reply {
	b.t.Helper()
	return b.do(http.MethodGet, path, "", headers...)
}

func (b *bed) do(method, path, body string, headers ...string) reply {
	b.t.Helper()
	loopback := b.http()
	return ask(b.t, loopback.Client(), method, loopback.URL+path, body, headers...)
}

// ask sends a request by a client.
func ask(tb testing.TB, client *http.Client, method, url, body string, headers ...string) reply {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), method, url, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(got)}
}

// direct asks the handler without a network, as a test under synctest has to; post likewise.
func (b *bed) direct(path string) reply { return b.record(http.MethodGet, path) }

func (b *bed) post(path string) reply { return b.record(http.MethodPost, path) }

func (b *bed) record(method, path string) reply {
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
	return reply{w.Code, w.Header(), w.Body.String()}
}

// wants compares with a status and a body of JSON.
func (r reply) wants(t *testing.T, status int, body string) {
	t.Helper()
	if r.status != status {
		t.Errorf("status %d, want %d: %s", r.status, status, r.body)
		return
	}
	if diff := cmp.Diff(decode(t, body), decode(t, r.body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// decode reads JSON, numbers as they are written.
func decode(t *testing.T, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		t.Errorf("%q is no JSON: %v", text, err)
	}
	return out
}

// refused compares with a status and a reason; the text has to hold all of the texts.
func (r reply) refused(t *testing.T, status int, reason string, texts ...string) {
	t.Helper()
	var got struct{ Error, Reason string }
	if err := json.Unmarshal([]byte(r.body), &got); err != nil {
		t.Errorf("status %d with a body that is no JSON: %q", r.status, r.body)
		return
	}
	if r.status != status || got.Reason != reason || got.Error == "" {
		t.Errorf("%d, reason %q, want %d, %q: %s", r.status, got.Reason, status, reason, r.body)
	}
	if kind := r.header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("Content-Type %q", kind)
	}
	for _, text := range texts {
		if !strings.Contains(got.Error, text) {
			t.Errorf("error %q does not say %q", got.Error, text)
		}
	}
}

// mint makes a token and its place in the access rules.
func mint(tb testing.TB, grant scaler.Grant) (string, scaler.Token) {
	tb.Helper()
	token, sum, err := scaler.MintToken(grant.ID)
	if err != nil {
		tb.Fatal(err)
	}
	return token, scaler.Token{Grant: grant, SHA256: sum}
}

// A journal is a log that a test reads.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// What time changes of an answer.
var (
	age        = regexp.MustCompile(`"oldestSeconds":[0-9.]+`)
	ageSeconds = regexp.MustCompile(`,"ageSeconds":[0-9.]+`)
)

// eventually waits for a condition that other goroutines bring about.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within 10 s: " + what)
		}
	}
}
