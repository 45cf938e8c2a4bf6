package page

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/memory"
)

// FuzzExplain sends forms as anybody may who has scope inspect.
func FuzzExplain(f *testing.F) {
	for _, text := range []string{
		scaledObject, "queue: mail\ntarget: 5", "a: &a [x]\nb: *a", "kind: List\nitems: [{kind: ScaledJob, spec: {triggers: [{type: cpu}]}}]",
		"{{[", "? - a\n: b", "!!binary aGk=", "- - - -\n  a: .nan",
	} {
		form, err := json.Marshal(explainForm{Text: text, Namespace: "team", Current: 1})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(form))
	}
	f.Add(`{"text":"queue: mail","current":1e999}`)
	f.Add("\"\xff\"")
	store := memory.New()
	store.Set("mail", memory.State{Ready: 3})
	b := serve(f, scaler.Access{}, source(f, "jobs", store))
	f.Fuzz(func(t *testing.T, form string) {
		w := httptest.NewRecorder()
		b.handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/page/explain", strings.NewReader(form)))
		body := w.Body.String()
		if w.Code != http.StatusOK && w.Code != http.StatusBadRequest || !json.Valid([]byte(body)) || !utf8.ValidString(body) {
			t.Errorf("%d %.1000q", w.Code, body)
		}
		if bound := 64<<10 + 40*len(form); len(body) > bound {
			t.Errorf("%d bytes are answered to a form of %d", len(body), len(form))
		}
	})
}

// What a form makes of itself, in memory and in the answer, is bounded by its size.
func TestAFormCostsNoMoreThanItsSize(t *testing.T) {
	b := serve(t, scaler.Access{}, source(t, "jobs", memory.New()))
	const size = 100 << 10
	long := strings.Repeat("x", size/2)
	for name, text := range map[string]string{
		"an alias of a long text": "metadata:\n  a: &a " + long + "\n  b: [" + strings.Repeat("*a,", size/8) + "1]",
		"an alias of a key":       "metadata:\n  a: &a " + long + "\n  b:\n" + strings.Repeat("  - *a : 1\n", size/24),
		"aliases of aliases": "kind: ScaledObject\na: &a [x,x,x,x,x,x,x,x,x]\n" +
			"b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
			"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
		"a merge of itself":   "x: &x\n  <<: *x\n  a: b",
		"lists in lists":      strings.Repeat("[", size),
		"maps in maps":        strings.Repeat("{a: ", size/4),
		"indented lists":      strings.Repeat("- ", size/2),
		"many documents":      strings.Repeat("---\n{}\n", size/7),
		"many triggers":       "triggers:\n" + strings.Repeat("- {}\n", size/6),
		"many lines":          strings.Repeat("a: b\n", size/5),
		"keys that are twice": "metadata:\n" + strings.Repeat("  a: b\n", size/7),
		"an odd key":          "metadata: {? " + long + " : 1}",
		"an unknown key":      "metadata:\n  " + long + ": \"1\"",
		"many unknown keys":   "metadata:\n" + numbered("  k%: \"\"\n", size/14),
		"many queues":         "metadata: {queue: \"" + strings.Repeat("a,", size/2) + "\"}",
		"a long queue":        "metadata: {queue: \"" + long + "\"}",
		"digits":              "metadata: {target: " + strings.Repeat("9", size) + "}",
		"text of digits":      "metadata: {target: \"" + strings.Repeat("9", size) + "\"}",
		"bounds":              "kind: ScaledObject\nspec: {minReplicaCount: 99999999999999999999}",
		"white space":         strings.Repeat(" \n", size/2),
		"a tab":               strings.Repeat("\t", size),
		"quotes":              "queue: \"" + strings.Repeat("'", size),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, body, code := b.explain(explainForm{Text: text})
			runtime.ReadMemStats(&after)
			if code != http.StatusOK && code != http.StatusBadRequest || len(body) > 64<<10+10*size {
				t.Errorf("%d, %d bytes: %.300s", code, len(body), body)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 2000*size {
				t.Errorf("%d bytes were allocated for a form of %d", used, len(text))
			}
		})
	}
}

// numbered repeats a text, in which a number is put in place of %.
func numbered(text string, n int) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(strings.ReplaceAll(text, "%", strings.Repeat("x", i%7)+string(rune('a'+i%26))+string(rune('a'+i/26%26))+string(rune('a'+i/676%26))))
	}
	return all.String()
}

func TestAFormBeyondItsBoundIsRefused(t *testing.T) {
	b := serve(t, scaler.Access{}, source(t, "jobs", memory.New()))
	if _, body, code := b.explain(explainForm{Text: strings.Repeat("x", 16<<20)}); code != http.StatusBadRequest || len(body) > 1000 {
		t.Errorf("%d %.300s", code, body)
	}
}

// Readers that never read hold their places for as long as their connections take what is written, cost a bounded memory,
// and keep nobody from asking what is no stream. With their connections they are gone.
func TestReadersThatNeverReadHoldOnlyTheirPlaces(t *testing.T) {
	store := memory.New()
	for i := range 1000 {
		store.Set(fmt.Sprintf("queue-%d", i), memory.State{Ready: 1})
	}
	b := serve(t, scaler.Access{}, source(t, "jobs", store))
	server := b.loopback()
	addr := server.Listener.Addr().String()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var deaf []net.Conn
	for range maxStreams + 20 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		deaf = append(deaf, conn)
		if _, err := io.WriteString(conn, "GET /page/events HTTP/1.1\r\nHost: leadsman\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	waitUntil(t, "all places are taken", func() bool { return len(b.page.slots) == maxStreams })
	for i := range 2000 {
		store.Enqueue(fmt.Sprintf("queue-%d", i%1000), 1)
	}
	if _, body, code := b.explain(explainForm{Text: "queue: queue-1"}); code != http.StatusOK || !strings.Contains(body, `"value":`) {
		t.Errorf("%d %s", code, body)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > maxStreams<<20 {
		t.Errorf("%d bytes are in use by %d streams", used, maxStreams)
	}
	for _, conn := range deaf {
		conn.Close()
	}
	waitUntil(t, "all places are free", func() bool { return len(b.page.slots) == 0 })
}

// waitUntil waits for what other goroutines bring about.
func waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within a minute: " + what)
		}
	}
}
