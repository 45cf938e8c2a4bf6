package page

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
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
