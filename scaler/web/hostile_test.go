package web_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/memory"
)

// secret is in a token that every fuzzed request has in one place or another. No answer shows it, nor any log line.
const secret = "hunter2hunter2hunter2hunter2"

// FuzzAsk sends what may stand in a request line and in the headers to /api/scaler.
func FuzzAsk(f *testing.F) {
	for _, target := range []string{
		"/api/scaler/jobs/mail", "/api/scaler/jobs?queue=mail&target=5", "/api/scaler?source=jobs&queue=a%2Cb&metric=ready",
		"/api/scaler/jobs/mail?source=jobs", "/api/scaler?queue=a&queue=b", "/api/scaler/jobs/a/b%2Fc//d?lookahead=1h",
		"/api/scaler?%zz=1", "/api/scaler?a;b=c", "/api/scaler/../../etc", "/api/scaler/jobs/%00%ff", "//api//scaler", "/api/scaler?=&&=",
		"/api/scaler/jobs/%2A?target=1e309&max=NaN&linger=-1s", "/api/signal?source=jobs", "*", "/metrics?name[]=x", "/health/..",
	} {
		f.Add(http.MethodGet, target, "ldm_keda_"+secret, "")
	}
	f.Add("", "/api/scaler/jobs/mail", "", "Bearer ldm_keda_x")
	f.Add("PATCH", "/api/scaler?token=ldm_x_y&api_key=z", "\xff", "Basic =")
	store := memory.New()
	store.Set("mail", memory.State{Ready: 3})
	_, token := mint(f, scaler.Grant{ID: "keda", Scopes: []scaler.Scope{scaler.ScopeRead, scaler.ScopeSignal}})
	access := scaler.Access{Tokens: []scaler.Token{token}}
	open := serve(f, scaler.Access{}, nil, source(f, "jobs", store))
	closed := serve(f, access, nil, source(f, "jobs", store), source(f, "other", memory.New()))
	f.Fuzz(func(t *testing.T, method, target, key, authorization string) {
		for _, b := range []*bed{open, closed} {
			r := request(method, target)
			if r == nil {
				return
			}
			r.Header.Set("X-Api-Key", key)
			if authorization != "" {
				r.Header.Set("Authorization", authorization)
			}
			status := checkReply(t, b, r, len(target)+len(key)+len(authorization), target+key+authorization)
			if b == closed && strings.HasPrefix(r.URL.Path, "/api/") && status == http.StatusOK {
				t.Errorf("%s %q is answered to nobody", method, target)
			}
		}
	})
}

// FuzzSignal sends bodies to /api/signal.
func FuzzSignal(f *testing.F) {
	for _, body := range []string{
		`{"source":"jobs","queue":"mail"}`, `{}`, ``, `{"queue":"a"}{"queue":"b"}`, `[1]`, `{"source":null,"queue":{}}`, `{"Queue":"x"}`,
		"{\"queue\":\"\xff\x00\"}", `{"queue":"` + strings.Repeat("x", 600) + `"}`, strings.Repeat(`{"queue":`, 2000), `{"a":1}`, `null`,
	} {
		f.Add(body, "")
	}
	f.Add("", "queue=mail")
	f.Add(`{"queue":"a"}`, "queue=b")
	b := serve(f, scaler.Access{}, nil, source(f, "jobs", memory.New()))
	f.Fuzz(func(t *testing.T, body, query string) {
		r := request(http.MethodPost, "/api/signal?"+query)
		if r == nil {
			return
		}
		r.Body = http.NoBody
		if body != "" {
			r = httptest.NewRequest(http.MethodPost, "/api/signal", strings.NewReader(body))
			r.URL.RawQuery = query
		}
		checkReply(t, b, r, len(body)+len(query), body+query)
	})
}

// request is one as net/http hands it to a handler; nil for what it would not.
func request(method, target string) *http.Request {
	r, err := http.NewRequest(method, "http://leadsman"+target, http.NoBody)
	if err != nil || !strings.HasPrefix(target, "/") && target != "*" {
		return nil
	}
	r.RequestURI, r.RemoteAddr = target, "192.0.2.1:1234"
	return r
}

// checkReply answers a request and returns the status. A handler that panics, or fails for no known reason, answers 500.
func checkReply(t *testing.T, b *bed, r *http.Request, size int, input string) (status int) {
	t.Helper()
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	body := w.Body.String()
	switch {
	case w.Code >= http.StatusInternalServerError && w.Code != http.StatusServiceUnavailable:
		t.Errorf("status %d: %.1000s", w.Code, body)
	case r.Method != http.MethodHead && w.Header().Get("Content-Type") == "application/json" && !json.Valid([]byte(body)):
		t.Errorf("status %d with a body that is no JSON: %.1000q", w.Code, body)
	case len(body) > 16<<10+12*size && r.URL.Path != "/metrics",
		!utf8.ValidString(body) && w.Code != http.StatusTemporaryRedirect: // which is net/http's, to the clean path, with the query as it came
		t.Errorf("unfit to be sent: %d bytes for a request of %d: %.1000q", len(body), size, body)
	case strings.Contains(body, secret) && !strings.Contains(strings.ReplaceAll(input, "ldm_keda_"+secret, ""), secret):
		t.Error("a secret is told")
	}
	return w.Code
}

// A request's body is read as far as it may go, and no further.
func TestHugeBodiesAreRefused(t *testing.T) {
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", memory.New()))
	for name, body := range map[string]string{
		"a queue of 16 MB": `{"queue":"` + strings.Repeat("x", 16<<20) + `"}`,
		"brackets":         strings.Repeat("[", 16<<20),
		"objects":          strings.Repeat(`{"queue":`, 2<<20),
		"digits":           `{"source":` + strings.Repeat("9", 16<<20) + "}",
		"nothing":          strings.Repeat(" ", 16<<20),
	} {
		r := httptest.NewRequest(http.MethodPost, "/api/signal", strings.NewReader(body))
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, r)
		if left, _ := io.Copy(io.Discard, r.Body); w.Code != http.StatusBadRequest || w.Body.Len() > 500 || len(body)-int(left) > 32<<10 {
			t.Errorf("%s: %d after %d bytes: %.300s", name, w.Code, len(body)-int(left), w.Body)
		}
	}
}

// Clients that say nothing, or a byte now and then, cost the server a bounded memory and nobody else the service.
func TestAFloodOfSlowRequestsLeavesOthersServed(t *testing.T) {
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", memory.New()))
	addr, end := running(t, b.handler, nil, time.Second)
	const flood, most = 5000, 2048
	served := func(when string) {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
		if got := ask(t, client, http.MethodGet, "http://"+addr+"/api/scaler/jobs/mail", ""); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", when, got.status, got.body)
		}
	}
	before := runtime.NumGoroutine()
	all := make([]net.Conn, flood)
	for i := range all {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		all[i] = conn
		_, _ = io.WriteString(conn, []string{"", "GET /health HTTP/1.1\r\nX: y\r\n", "POST /api/signal HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"}[i%3])
	}
	served("during the flood")
	if n := runtime.NumGoroutine() - before; n > 2*most+100 {
		t.Errorf("%d goroutines are there for %d connections", n, flood)
	}
	for i, conn := range all { // beyond the bound at once, the others by the time that a request may take
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d is still open", i)
		}
	}
	served("after the flood")
	if err := end(); err != nil {
		t.Errorf("Serve = %v", err)
	}
}
