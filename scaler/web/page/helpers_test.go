package page

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/web"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A bed is a server with its page, as a test looks at it.
type bed struct {
	t        testing.TB
	server   *scaler.Server
	page     *Page
	handler  http.Handler      // with the page mounted
	listener *bufconn.Listener // of gRPC
	stop     func()            // ends gRPC; may be called again
}

// serve starts a server with these access rules and its page. Both have to stop well when the test ends.
func serve(tb testing.TB, access scaler.Access, sources ...scaler.Source) *bed {
	tb.Helper()
	log := slog.New(slog.DiscardHandler)
	b := &bed{t: tb, listener: bufconn.Listen(64 << 10)}
	var err error
	if b.server, err = scaler.New(scaler.Options{Sources: sources, Listener: b.listener, Access: access, Logger: log}); err != nil {
		tb.Fatal(err)
	}
	if b.page, err = New(Options{Scaler: b.server, Logger: log}); err != nil {
		tb.Fatal(err)
	}
	if b.handler, err = web.New(web.Options{Scaler: b.server, Page: b.page, Logger: log}); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { b.page.Run(ctx) })
	running.Go(func() {
		if err := b.server.Run(ctx); err != nil {
			tb.Errorf("Run = %v", err)
		}
	})
	b.stop = func() {
		cancel()
		running.Wait()
	}
	tb.Cleanup(b.stop)
	return b
}

// settle reads the only source, and waits until it is watched.
func (b *bed) settle() {
	b.t.Helper()
	if err := b.server.Refresh(b.t.Context(), b.server.SourceNames()[0]); err != nil {
		b.t.Fatal(err)
	}
	id, err := b.server.Identify(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); b.server.Sources(id)[0].PushMode != driver.ModeDirect; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatal("the source is not watched")
		}
	}
}

// loopback serves the page over HTTP.
func (b *bed) loopback() *httptest.Server {
	b.t.Helper()
	server := httptest.NewServer(b.handler)
	b.t.Cleanup(server.Close)
	return server
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

// mint makes a token and its place in the access rules.
func mint(t *testing.T, grant scaler.Grant) (string, scaler.Token) {
	t.Helper()
	token, sum, err := scaler.MintToken(grant.ID)
	if err != nil {
		t.Fatal(err)
	}
	return token, scaler.Token{Grant: grant, SHA256: sum}
}

// keda returns a client as KEDA has it.
func (b *bed) keda() pb.ExternalScalerClient { //nolint:ireturn // KEDA's generated code has no other type
	b.t.Helper()
	conn, err := grpc.NewClient("passthrough:///bed", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return b.listener.DialContext(ctx) }))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	return pb.NewExternalScalerClient(conn)
}

// poll asks as KEDA does.
func (b *bed) poll(keda pb.ExternalScalerClient, ref *pb.ScaledObjectRef) {
	b.t.Helper()
	spec, err := keda.GetMetricSpec(b.t.Context(), ref)
	if err == nil {
		_, err = keda.IsActive(b.t.Context(), ref)
	}
	if err == nil {
		_, err = keda.GetMetrics(b.t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: ref, MetricName: spec.GetMetricSpecs()[0].GetMetricName()})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// An event is one of a stream's.
type event struct {
	Name string
	Data json.RawMessage
	Now  int64
}

// A reading is an open event stream.
type reading struct {
	t      *testing.T
	events chan event // closed when the stream has ended
	cancel context.CancelFunc
}

// open opens an event stream over HTTP; headers are given as key, value and so on.
func open(t *testing.T, client *http.Client, url string, headers ...string) *reading {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/page/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := client.Do(req) //nolint:bodyclose // by the goroutine that reads it
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d, headers %v", resp.StatusCode, resp.Header)
	}
	r := &reading{t: t, events: make(chan event, 1000), cancel: cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(r.events)
		defer resp.Body.Close()
		readEvents(resp.Body, func(e event) { r.events <- e })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}

// readEvents calls got for each event until the stream ends.
func readEvents(from io.Reader, got func(event)) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 8<<20)
	var e event
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "event: "):
			e = event{Name: line[len("event: "):]}
		case strings.HasPrefix(line, "data: "):
			if json.Unmarshal([]byte(line[len("data: "):]), &e) != nil {
				e.Name = "malformed " + line
			}
		case strings.HasPrefix(line, ": "):
			got(event{Name: line})
		case line == "" && e.Name != "":
			got(e)
			e = event{}
		}
	}
}

// until reads events until one of this name satisfies want.
func until[T any](r *reading, name string, want func(T) bool) T {
	r.t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case e, ok := <-r.events:
			if !ok {
				r.t.Fatalf("the stream ended before the %s that was waited for", name)
			}
			if e.Name != name {
				continue
			}
			var data T
			if err := json.Unmarshal(e.Data, &data); err != nil {
				r.t.Fatalf("%s: %v", e.Data, err)
			}
			if want(data) {
				return data
			}
		case <-deadline:
			r.t.Fatalf("no such %s within 10 s", name)
		}
	}
}

// queue returns the named queue of a message.
func (v *queuesView) queue(name string) (queueView, bool) {
	for i := range v.Queues {
		if v.Queues[i].Name == name {
			return v.Queues[i], true
		}
	}
	return queueView{}, false
}

// hasReady tells whether a message has so many ready jobs in the queue.
func hasReady(name string, n int64) func(queuesView) bool {
	return func(v queuesView) bool {
		q, ok := v.queue(name)
		return ok && q.Ready == n
	}
}
