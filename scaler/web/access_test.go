package web_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/web"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/memory"
)

// Case 70 over HTTP: probes are open, all else takes a token, which may come in one of four places.
func TestTokenTravelsInAHeaderOrAParameter(t *testing.T) {
	store := memory.New()
	store.Set("mail", memory.State{Ready: 1})
	token, entry := mint(t, scaler.Grant{ID: "keda"})
	expired, old := mint(t, scaler.Grant{ID: "old", Expires: time.Now().Add(-time.Hour)})
	b := serve(t, scaler.Access{Tokens: []scaler.Token{entry, old}}, nil, source(t, "jobs", store))
	wrong := token[:len(token)-1] + "!"
	for name, tc := range map[string]struct {
		query   string
		headers []string
		status  int
	}{
		"bearer":                             {"", []string{"Authorization", "Bearer " + token}, 200},
		"bearer in lower case":               {"", []string{"authorization", "bearer " + token}, 200},
		"X-API-KEY":                          {"", []string{"X-API-KEY", token}, 200},
		"api_key":                            {"?api_key=" + token, nil, 200},
		"token, as in metadata":              {"?token=" + token, nil, 200},
		"line end of a Secret":               {"?api_key=" + token + "%0A", nil, 200},
		"nothing":                            {"", nil, 401},
		"wrong bearer":                       {"", []string{"Authorization", "Bearer " + wrong}, 401},
		"wrong X-API-KEY":                    {"", []string{"X-API-KEY", wrong}, 401},
		"wrong api_key":                      {"?api_key=" + wrong, nil, 401},
		"empty api_key":                      {"?api_key=", nil, 401},
		"expired":                            {"", []string{"X-API-KEY", expired}, 401},
		"its hash":                           {"?api_key=" + entry.SHA256, nil, 401},
		"other scheme":                       {"", []string{"Authorization", "Basic " + token}, 401},
		"bad bearer beside a good X-API-KEY": {"", []string{"Authorization", "Bearer " + wrong, "X-API-KEY", token}, 401},
		"bad scheme beside a good api_key":   {"?api_key=" + token, []string{"Authorization", "nonsense"}, 401},
		"bad X-API-KEY beside good api_key":  {"?api_key=" + token, []string{"X-API-KEY", wrong}, 401},
		"bad api_key beside a good token":    {"?api_key=" + wrong + "&token=" + token, nil, 401},
		"two headers":                        {"", []string{"Authorization", "Bearer " + token, "Authorization", "Bearer " + token}, 401},
		"good bearer beside bad others":      {"?api_key=" + wrong, []string{"Authorization", "Bearer " + token, "X-API-KEY", wrong}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			got := b.get("/api/scaler/jobs/mail"+tc.query, tc.headers...)
			if tc.status == http.StatusOK {
				if got.status != http.StatusOK {
					t.Errorf("%d %s", got.status, got.body)
				}
				return
			}
			got.refused(t, tc.status, "unauthenticated")
			if got.header.Get("WWW-Authenticate") == "" {
				t.Error("no challenge")
			}
		})
	}
	for _, path := range []string{"/health", "/readiness"} {
		if got := b.get(path); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/metrics", "/api/scaler", "/api/scaler/jobs"} {
		b.get(path).refused(t, 401, "unauthenticated")
	}
	b.do(http.MethodPost, "/api/signal", "").refused(t, 401, "unauthenticated")
	for _, secret := range []string{token, wrong, expired} {
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("the log shows a token: %s", b.log)
		}
	}
	if !strings.Contains(b.log.String(), `method="GET /api/scaler/{source}/{queue...}"`) {
		t.Errorf("the log does not tell what was refused: %s", b.log)
	}
}

// The grants are those of gRPC: scopes, sources, queues and namespaces.
func TestGrantsHoldOverHTTP(t *testing.T) {
	mail, bills := memory.New(), memory.New()
	mail.Set("mail-out", memory.State{Ready: 1})
	var access scaler.Access
	token := func(grant scaler.Grant) string {
		text, entry := mint(t, grant)
		access.Tokens = append(access.Tokens, entry)
		return text
	}
	var (
		reads    = token(scaler.Grant{ID: "reads", Scopes: []scaler.Scope{scaler.ScopeRead}})
		inspects = token(scaler.Grant{ID: "inspects", Scopes: []scaler.Scope{scaler.ScopeInspect}})
		signals  = token(scaler.Grant{ID: "signals", Scopes: []scaler.Scope{scaler.ScopeSignal}})
		narrow   = token(scaler.Grant{ID: "narrow", Sources: []string{"mail"}, Queues: []string{"mail-*"}})
		tenant   = token(scaler.Grant{ID: "tenant", Namespaces: []string{"team"}})
	)
	b := serve(t, access, nil, source(t, "mail", mail), source(t, "bills", bills))
	for _, tc := range []struct {
		method, path, token string
		status              int
		reason              string
	}{
		{"GET", "/api/scaler/mail", reads, 200, ""},
		{"GET", "/api/scaler/mail", inspects, 403, "permission_denied"},
		{"GET", "/api/scaler/mail", signals, 403, "permission_denied"},
		{"GET", "/api/scaler/mail", narrow, 403, "permission_denied"}, // all queues
		{"GET", "/api/scaler/mail/mail-*", narrow, 200, ""},
		{"GET", "/api/scaler/mail/bill", narrow, 403, "permission_denied"},
		{"GET", "/api/scaler?queue=mail-out", narrow, 200, ""}, // the only source that it sees
		{"GET", "/api/scaler/bills/mail-out", narrow, 404, "not_found"},
		{"GET", "/api/scaler/mail", tenant, 403, "permission_denied"},
		{"GET", "/metrics", inspects, 200, ""},
		{"GET", "/metrics", reads, 403, "permission_denied"},
		{"GET", "/metrics", narrow, 403, "permission_denied"},
		{"GET", "/metrics", tenant, 403, "permission_denied"},
		{"POST", "/api/signal?source=mail", signals, 200, ""},
		{"POST", "/api/signal?source=mail", reads, 403, "permission_denied"},
		{"POST", "/api/signal?source=mail&queue=mail-out", narrow, 200, ""},
		{"POST", "/api/signal?source=mail&queue=bill", narrow, 403, "permission_denied"},
		{"POST", "/api/signal?source=mail", narrow, 403, "permission_denied"},
		{"POST", "/api/signal?source=bills&queue=mail-out", narrow, 404, "not_found"},
	} {
		got := b.do(tc.method, tc.path, "", "X-API-KEY", tc.token)
		if tc.reason != "" {
			got.refused(t, tc.status, tc.reason)
		} else if got.status != tc.status {
			t.Errorf("%s %s: %d %s", tc.method, tc.path, got.status, got.body)
		}
	}
	b.get("/api/scaler/mail", "X-API-KEY", tenant).refused(t, 403, "permission_denied", "limited to namespaces")
	b.get("/metrics", "X-API-KEY", narrow).refused(t, 403, "permission_denied", `token "narrow" is limited`)
}

func TestRevokedTokenIsRefusedAtOnce(t *testing.T) {
	token, entry := mint(t, scaler.Grant{ID: "keda"})
	_, next := mint(t, scaler.Grant{ID: "next"})
	b := serve(t, scaler.Access{Tokens: []scaler.Token{entry}}, nil, source(t, "jobs", memory.New()))
	if got := b.get("/api/scaler", "X-API-KEY", token); got.status != 200 {
		t.Fatalf("%+v", got)
	}
	if err := b.server.SetAccess(scaler.Access{Tokens: []scaler.Token{next}}); err != nil {
		t.Fatal(err)
	}
	b.get("/api/scaler", "X-API-KEY", token).refused(t, 401, "unauthenticated")
}

func TestEverybodyIsLetInWhereHTTPAsksForNoToken(t *testing.T) {
	_, entry := mint(t, scaler.Grant{ID: "keda"})
	open := func(shown *web.Options, _ *scaler.Options) { shown.Everybody = true }
	b := serve(t, scaler.Access{Tokens: []scaler.Token{entry}}, open, source(t, "jobs", memory.New()))
	for _, path := range []string{"/api/scaler", "/metrics", "/api/scaler?api_key=wrong"} {
		if got := b.get(path); got.status != 200 {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// A page of somebody else's, in a browser on this machine, is no producer.
func TestRequestsOfOtherOriginsAreRefused(t *testing.T) {
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", memory.New()))
	b.do(http.MethodPost, "/api/signal", "", "Sec-Fetch-Site", "cross-site").refused(t, 403, "cross_origin")
	b.do(http.MethodPost, "/api/signal", "", "Origin", "https://evil.example").refused(t, 403, "cross_origin")
	if got := b.do(http.MethodPost, "/api/signal", "", "Sec-Fetch-Site", "same-origin"); got.status != 200 {
		t.Errorf("the page's own request: %d %s", got.status, got.body)
	}
}

// The page is for another package to make: it stands where nothing else does, and never among the API.
func TestPageStandsWhereNothingElseDoes(t *testing.T) {
	_, entry := mint(t, scaler.Grant{ID: "keda"})
	page := func(shown *web.Options, _ *scaler.Options) {
		shown.Page = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("page " + r.URL.Path)) })
	}
	b := serve(t, scaler.Access{Tokens: []scaler.Token{entry}}, page, source(t, "jobs", memory.New()))
	for _, path := range []string{"/", "/assets/page.css"} {
		if got := b.get(path); got.status != 200 || got.body != "page "+path {
			t.Errorf("%s: %+v", path, got)
		}
	}
	b.get("/api/nothing").refused(t, 404, "not_found")
	b.get("/api/scaler").refused(t, 401, "unauthenticated")
}

// Case 28: what an engine says of its connection loses the password before it leaves.
func TestSecretsOfASourceAreNotShown(t *testing.T) {
	store := memory.New()
	store.Fail(errors.New("postgres://app:hunter2@db/app: no route"))
	b := serve(t, scaler.Access{}, nil, source(t, "jobs", store, storage.WithSecrets(func() []string { return []string{"hunter2"} })))
	for _, path := range []string{
		"/api/scaler", "/readiness", "/metrics", "/health", "/api/scaler?password=hunter2", "/api/scaler?queue=postgres://a:hunter2@h/d",
		"/api/scaler?api_key=hunter2", "/api/scaler?token=hunter2",
	} {
		if got := b.get(path); strings.Contains(got.body, "hunter2") {
			t.Errorf("%s shows the password: %s", path, got.body)
		}
	}
	if text := b.log.String(); strings.Contains(text, "hunter2") || !strings.Contains(text, "no route") {
		t.Errorf("the log: %s", text)
	}
}
