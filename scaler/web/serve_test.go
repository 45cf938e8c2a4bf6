package web_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/web"
	"github.com/leadsman/leadsman/storage/memory"
)

// running serves a handler on loopback and returns its address, and what ends it and says how.
func running(t *testing.T, handler http.Handler, secure *scaler.TLS, timeout time.Duration) (addr string, end func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	server := web.Server{Handler: handler, TLS: secure, ShutdownTimeout: timeout, Logger: slog.New(slog.DiscardHandler)}
	go func() { ended <- server.Serve(ctx, listener) }()
	t.Cleanup(cancel)
	return listener.Addr().String(), func() error {
		cancel()
		return <-ended
	}
}

func TestRequestsUnderWayAreAnsweredAtShutdown(t *testing.T) {
	begun, free := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-free
		_, _ = io.WriteString(w, "done")
	})
	addr, end := running(t, slow, nil, 10*time.Second)
	answered := make(chan string, 1)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	go func() {
		resp, err := client.Get("http://" + addr)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		answered <- string(text)
	}()
	<-begun
	ended := make(chan error, 1)
	go func() { ended <- end() }()
	eventually(t, "nobody is let in any more", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	close(free)
	if got := <-answered; got != "done" {
		t.Errorf("the request under way got %q", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestShutdownDoesNotWaitForEver(t *testing.T) {
	begun := make(chan struct{})
	stuck := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
	})
	addr, end := running(t, stuck, nil, 50*time.Millisecond)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	failed := make(chan error, 1)
	go func() {
		resp, err := client.Get("http://" + addr)
		if err == nil {
			resp.Body.Close()
		}
		failed <- err
	}()
	<-begun
	if err := end(); err != nil {
		t.Errorf("Serve = %v", err)
	}
	if <-failed == nil {
		t.Error("the request was answered")
	}
}

func TestHeadersAreBounded(t *testing.T) {
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", memory.New()))
	addr, end := running(t, b.handler, nil, time.Second)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() { // the server may close before it has read all of it
		_, _ = fmt.Fprintf(conn, "GET /api/scaler?queue=%s HTTP/1.1\r\nHost: x\r\n\r\n", strings.Repeat("x", 1<<20)) // case 72
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
	if err := end(); err != nil {
		t.Errorf("Serve = %v", err)
	}
}

func TestListenerThatIsGoneIsAnError(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	server := web.Server{Handler: http.NotFoundHandler(), ShutdownTimeout: time.Second, Logger: slog.New(slog.DiscardHandler)}
	err = server.Serve(t.Context(), listener)
	if err == nil || !strings.Contains(err.Error(), "web: serve:") {
		t.Errorf("Serve = %v", err)
	}
}

// Client certificates give the grants that they give to gRPC, and HTTP/2 and HTTP/1.1 are both spoken.
func TestClientCertificateCountsOverHTTPS(t *testing.T) {
	pki := newPKI(t)
	store := memory.New()
	store.Set("mail", memory.State{Ready: 1})
	access := scaler.Access{ClientCA: true, Clients: []scaler.Client{
		{SAN: "keda.example", Grant: scaler.Grant{ID: "keda", Scopes: []scaler.Scope{scaler.ScopeRead}}},
	}}
	b := serve(t, access, nil, source(t, "jobs", store))
	secure, err := scaler.NewTLS(pki.files("server"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	addr, end := running(t, b.handler, secure, time.Second)
	client := func(name string, http2 bool) *http.Client {
		config := &tls.Config{RootCAs: pki.pool, ServerName: "localhost"}
		if name != "" {
			config.Certificates = []tls.Certificate{pki.pair(name)}
		}
		transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: http2}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	url := "https://" + addr
	for _, http2 := range []bool{false, true} {
		if got := ask(t, client("keda", http2), http.MethodGet, url+"/api/scaler/jobs/mail", ""); got.status != 200 {
			t.Errorf("HTTP/2 %v: %d %s", http2, got.status, got.body)
		}
	}
	ask(t, client("keda", true), http.MethodGet, url+"/metrics", "").refused(t, 403, "permission_denied", `client "keda"`)
	ask(t, client("other", true), http.MethodGet, url+"/api/scaler/jobs/mail", "").refused(t, 401, "unauthenticated")
	ask(t, client("", true), http.MethodGet, url+"/api/scaler/jobs/mail", "").refused(t, 401, "unauthenticated")
	if got := ask(t, client("", true), http.MethodGet, url+"/health", ""); got.status != 200 { // as the kubelet asks
		t.Errorf("health: %d", got.status)
	}
	// Case 69: plaintext to the TLS port.
	plain := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if got := ask(t, plain, http.MethodGet, "http://"+addr+"/health", ""); got.status != 400 || !strings.Contains(got.body, "HTTPS server") {
		t.Errorf("plaintext: %d %q", got.status, got.body)
	}
	// Case 68: another certificate of the same name.
	renewed := newPKI(t)
	renewed.replace(t, pki)
	if changed, err := secure.Reload(); err != nil || !changed {
		t.Fatalf("Reload = %v, %v", changed, err)
	}
	config := &tls.Config{RootCAs: renewed.pool, ServerName: "localhost"}
	transport := &http.Transport{TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	if got := ask(t, &http.Client{Transport: transport}, http.MethodGet, url+"/health", ""); got.status != 200 {
		t.Errorf("after the rotation: %d", got.status)
	}
	if err := end(); err != nil {
		t.Errorf("Serve = %v", err)
	}
}

// A handler that breaks is one answer that fails, and the log has the reason.
func TestPanicIsOneFailedAnswer(t *testing.T) {
	page := func(shown *web.Options, _ *scaler.Options) {
		shown.Page = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/late" {
				_, _ = io.WriteString(w, "half")
			}
			panic("hunter2")
		})
	}
	b := serve(t, scaler.Access{}, page, source(t, "jobs", memory.New()))
	b.get("/early").refused(t, 500, "internal")
	if resp, err := http.Get(b.http().URL + "/late"); err == nil {
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil {
			t.Errorf("half an answer passes for a whole: %q", text)
		}
	}
	if !strings.Contains(b.log.String(), "a request failed for an unexpected reason") {
		t.Errorf("the log: %s", b.log)
	}
}

// A page that streams has to flush and to lift the deadlines, through whatever stands before it.
func TestStreamsAreFlushed(t *testing.T) {
	free := make(chan struct{})
	page := func(shown *web.Options, _ *scaler.Options) {
		shown.Page = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			control := http.NewResponseController(w)
			_, _ = io.WriteString(w, "data: one\n\n")
			if err := control.SetWriteDeadline(time.Time{}); err != nil {
				t.Errorf("SetWriteDeadline: %v", err)
			}
			if err := control.Flush(); err != nil {
				t.Errorf("Flush: %v", err)
			}
			<-free
		})
	}
	b := serve(t, scaler.Access{}, page, source(t, "jobs", memory.New()))
	loopback := httptest.NewServer(b.handler)
	defer loopback.Close()
	defer close(free)
	resp, err := http.Get(loopback.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if err != nil || line != "data: one\n" {
		t.Errorf("%q, %v", line, err)
	}
}
