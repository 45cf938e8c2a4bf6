// Package page is what a person with a browser sees of a leadsman server: its sources, its queues with the last hour
// of each, what KEDA asked and was told, and a form that explains what KEDA would be told for a ScaledObject.
//
// The page itself (assets) is static, the same for everybody, and loads nothing from anywhere else. It fills itself
// from two routes that need scope inspect, and shows what the caller's grant allows and no more: a stream of
// server-sent events (events.go, of the messages that messages.go makes of view.go), and the form's answer (explain.go,
// with the reader of manifests in manifest.go).
//
// A stream holds no queue of messages. Each pass looks at the server as it is, writes what has changed since its
// last one, and only then looks again: a slow reader gets the latest state. A pass never waits for a source, because
// it shows what is held of it. That this stays fresh while somebody looks, and that the past hour is kept (history.go),
// is the work of [Page.Run], which owns all goroutines here: one for each source.
package page

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/scaler"
)

const (
	// maxStreams bounds the event streams that are open at once.
	maxStreams = 64
	// lookEvery is how often a stream looks for changes, and a watched source is asked; what is read of it then is
	// for its sampler to decide.
	lookEvery = 250 * time.Millisecond
	// watchedFor is how long a source counts as watched after a stream has looked.
	watchedFor = 2 * time.Second
	// recordEvery is how often what is held is put into the history.
	recordEvery = time.Second
)

// Options are what a page is made of.
type Options struct {
	// Scaler is the server that is shown; required.
	Scaler *scaler.Server
	// Everybody lets anyone in, whatever the access rules say.
	Everybody bool
	// Logger takes what goes wrong here; slog.Default by default.
	Logger *slog.Logger
}

// A Page serves the page. Make one with New.
type Page struct {
	scaler    *scaler.Server
	everybody bool
	log       *slog.Logger
	mux       *http.ServeMux
	slots     chan struct{} // one for each open stream
	history   history
	shared    shared
	watched   map[string]*atomic.Pointer[time.Time] // by source: when a stream last looked at it; nil for never
}

// New makes a Page. It starts nothing.
func New(opts Options) (*Page, error) {
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	p := &Page{
		scaler: opts.Scaler, everybody: opts.Everybody, log: opts.Logger,
		mux: http.NewServeMux(), slots: make(chan struct{}, maxStreams), watched: map[string]*atomic.Pointer[time.Time]{},
	}
	for _, name := range opts.Scaler.SourceNames() {
		p.watched[name] = &atomic.Pointer[time.Time]{}
	}
	files, err := loadAssets()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		p.mux.Handle("GET "+f.path, f)
	}
	p.mux.HandleFunc("GET /page/events", p.events)
	p.mux.HandleFunc("POST /page/explain", p.explain)
	return p, nil
}

// Run keeps the sources fresh that somebody looks at, and the history of all queues that anybody asks for, until ctx
// is done. Without it the page shows only what others have asked for, and no past.
func (p *Page) Run(ctx context.Context) {
	var keepers sync.WaitGroup
	for name := range p.watched {
		keepers.Go(func() { p.keep(ctx, name) })
	}
	keepers.Wait()
}

// keep looks after one source. One that hangs holds up nobody else.
func (p *Page) keep(ctx context.Context, name string) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	record := time.NewTicker(recordEvery)
	defer record.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if looked := p.watched[name].Load(); looked != nil && time.Since(*looked) < watchedFor {
				_ = p.scaler.Refresh(ctx, name) // the source's state says so
			}
		case <-record.C:
			p.history.record(name, p.scaler.Held(name))
		}
	}
}

// ServeHTTP implements http.Handler: / and what is below /page/.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	p.mux.ServeHTTP(w, r)
}

// policy lets the page load from its own server alone, run no script of anybody else's, and be shown in no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}

// admit finds out who asks; the context knows it from then on.
func (p *Page) admit(r *http.Request) (context.Context, scaler.Identity, error) {
	ctx := p.scaler.AdmitHTTP(r, scaler.ScopeInspect, p.everybody)
	id, err := p.scaler.Identify(ctx)
	return ctx, id, err
}

// A failure is the body of an answer that is no success.
type failure struct {
	Error string `json:"error"`
}

// fail answers with an error of the scaler.
func (p *Page) fail(w http.ResponseWriter, err error) {
	st := status.Convert(p.scaler.Status(err))
	code := http.StatusInternalServerError
	switch st.Code() {
	case codes.InvalidArgument, codes.FailedPrecondition:
		code = http.StatusBadRequest
	case codes.Unauthenticated:
		code = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Bearer realm="leadsman"`)
	case codes.PermissionDenied:
		code = http.StatusForbidden
	case codes.ResourceExhausted, codes.Unavailable:
		code = http.StatusServiceUnavailable
	default:
	}
	reply(w, code, failure{st.Message()})
}

// reply answers with JSON that is not kept.
func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // the client is gone, or nothing can be done
}
