// Package web is a leadsman server over HTTP: what KEDA's metrics-api trigger and scripts ask (/api/scaler), what
// producers tell (/api/signal), what Kubernetes probes (/health, /readiness) and what Prometheus scrapes (/metrics).
//
// It decides nothing of its own. Who asks is found out by the access rules of gRPC, what is asked is parsed by the
// parser of triggers' metadata, and the answer comes from the sample that KEDA's own calls are answered from. What
// cannot be answered is a status other than 200 with a reason in JSON, never a zero.
//
// [New] makes the handler, with every route in one table; [Server.Serve] runs it on a listener and is the only one here
// that starts a goroutine.
package web

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/leadsman/leadsman/scaler"
)

// Options are what a handler is made of. The zero value of a field is its default.
type Options struct {
	// Scaler is the server that is asked; required.
	Scaler *scaler.Server
	// Everybody lets anyone in, whatever the access rules say.
	Everybody bool
	// Gatherer is what /metrics shows; without one there is no /metrics.
	Gatherer prometheus.Gatherer
	// Metrics takes the handler's own metrics; nil for none.
	Metrics prometheus.Registerer
	// Page is shown to people, at / and at every path that nothing else is at. It is open to everybody: what it shows
	// of the server, it has to ask as its reader. Without one there is nothing.
	Page http.Handler
	// Logger takes what happens, each request at level debug; slog.Default by default.
	Logger *slog.Logger
}

// A handler answers requests.
type handler struct {
	scaler    *scaler.Server
	everybody bool
	page      http.Handler
	log       *slog.Logger
}

// A route is one kind of request. A handler whose route has a scope finds its caller in the context.
type route struct {
	method string
	path   string       // as http.ServeMux has it
	scope  scaler.Scope // "" is open to everybody
	handle http.HandlerFunc
}

// routes are all there are.
func (h *handler) routes(opts *Options) []route {
	all := []route{
		{http.MethodGet, "/health", "", h.health},
		{http.MethodGet, "/readiness", "", h.readiness},
		{http.MethodGet, "/api/scaler", scaler.ScopeRead, h.ask},
		{http.MethodGet, "/api/scaler/{source}", scaler.ScopeRead, h.ask},
		{http.MethodGet, "/api/scaler/{source}/{queue...}", scaler.ScopeRead, h.ask}, // a name may hold slashes
		{http.MethodPost, "/api/signal", scaler.ScopeSignal, h.signal},
	}
	if opts.Gatherer != nil {
		all = append(all, route{http.MethodGet, "/metrics", scaler.ScopeInspect, h.metrics(opts.Gatherer)})
	}
	return all
}

// New makes the handler.
func New(opts Options) (http.Handler, error) {
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	h := &handler{scaler: opts.Scaler, everybody: opts.Everybody, page: opts.Page, log: opts.Logger}
	mux := http.NewServeMux()
	allowed := map[string][]string{}
	for _, r := range h.routes(&opts) {
		mux.Handle(r.method+" "+r.path, h.admitting(r))
		allowed[r.path] = append(allowed[r.path], r.method)
	}
	for path, methods := range allowed {
		mux.Handle(path, otherMethod(methods))
	}
	mux.HandleFunc("/", h.elsewhere)
	sameOrigin := http.NewCrossOriginProtection() // a page in somebody's browser is no producer
	sameOrigin.SetDenyHandler(http.HandlerFunc(otherOrigin))
	return newObserver(mux, sameOrigin.Handler(mux), &opts)
}

// admitting lets in who has the route's scope.
func (h *handler) admitting(r route) http.Handler {
	if r.scope == "" {
		return r.handle
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req = req.WithContext(h.scaler.AdmitHTTP(req, r.scope, h.everybody)) //nolint:contextcheck // it is the request's own
		if _, err := h.scaler.Identify(req.Context()); err != nil {          //nolint:contextcheck // likewise
			h.fail(w, err)
			return
		}
		r.handle(w, req)
	})
}

func otherMethod(methods []string) http.HandlerFunc {
	allow := strings.Join(methods, ", ")
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Allow", allow)
		refuse(w, http.StatusMethodNotAllowed, "method_not_allowed", "use "+allow)
	}
}

func otherOrigin(w http.ResponseWriter, _ *http.Request) {
	refuse(w, http.StatusForbidden, "cross_origin", "a page of another origin may not send this request")
}

// elsewhere is every path that nothing else is at.
func (h *handler) elsewhere(w http.ResponseWriter, r *http.Request) {
	if h.page == nil || strings.HasPrefix(r.URL.Path, "/api/") {
		refuse(w, http.StatusNotFound, "not_found", "there is nothing here; see /api/scaler, /api/signal, /health, /readiness, /metrics")
		return
	}
	h.page.ServeHTTP(w, r)
}
