package page

import (
	"context"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
)

// hanging is a reader whose backend never answers.
type hanging struct{}

func (hanging) Read(ctx context.Context, _ driver.Request) (driver.Reading, error) {
	<-ctx.Done()
	return driver.Reading{}, ctx.Err()
}

func (hanging) Close() error { return nil }

func (b *bed) get(path string, headers ...string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	b.handler.ServeHTTP(w, r)
	return w
}

// The page is open to everybody, also where what it shows is not: it is the same for all, and asks for the token.
func TestPageIsServedWithAllThatItLoads(t *testing.T) {
	_, grant := mint(t, scaler.Grant{ID: "somebody"})
	b := serve(t, scaler.Access{Tokens: []scaler.Token{grant}}, source(t, "jobs", memory.New()))
	seen := map[string]bool{}
	loads := regexp.MustCompile(`(?:href|src)="(page/[^"]+)"|from "\./([^"]+)"`)
	var follow func(path string)
	follow = func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		w := b.get(path)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
			return
		}
		for _, found := range loads.FindAllStringSubmatch(w.Body.String(), -1) {
			if found[1] != "" {
				follow("/" + found[1])
			} else {
				follow("/page/" + found[2])
			}
		}
		for _, header := range []string{"Content-Security-Policy", "ETag", "X-Content-Type-Options", "Referrer-Policy"} {
			if w.Header().Get(header) == "" {
				t.Errorf("%s: no %s", path, header)
			}
		}
		if kind := w.Header().Get("Content-Type"); kind == "" || strings.HasPrefix(kind, "text/plain") {
			t.Errorf("%s: Content-Type %q", path, kind)
		}
		if again := b.get(path, "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
			t.Errorf("%s again: %d", path, again.Code)
		}
	}
	follow("/")
	files, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	if len(seen) != len(files) {
		t.Errorf("the page loads %d files, and there are %d", len(seen), len(files))
	}
}

func TestPolicyAllowsNothingFromElsewhereAndNothingInline(t *testing.T) {
	b := serve(t, scaler.Access{}, source(t, "jobs", memory.New()))
	got := b.get("/").Header().Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in %q", part, got)
		}
	}
	if strings.Contains(got, "unsafe") || strings.Contains(got, "*") || strings.Contains(got, "http") {
		t.Errorf("policy %q", got)
	}
}

func TestOtherPathsAndMethodsAreRefused(t *testing.T) {
	b := serve(t, scaler.Access{}, source(t, "jobs", memory.New()))
	for _, path := range []string{"/page/", "/page/nothing.js", "/page/index.html", "/index.html", "/page/../page.go", "/favicon.ico"} {
		if w := b.get(path); w.Code == http.StatusOK {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := b.get("/page/explain"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET /page/explain: %d", w.Code)
	}
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/page/explain", strings.NewReader("{}"))
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	b.handler.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("a form of another site: %d", w.Code)
	}
}
