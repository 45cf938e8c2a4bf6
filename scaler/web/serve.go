package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/internal/door"
)

// Limits of a connection. A handler that streams lifts its own by http.ResponseController, and says that it [Stays].
const (
	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 20 * time.Second // a scrape of a slow source is in it
	idleTimeout   = 2 * time.Minute  // longer than any polling interval that is usual
	maxHeader     = 32 << 10         // bytes of request line and headers; metadata of a trigger are a few hundred
)

// bounds are those of connections. KEDA's metrics-api trigger keeps one for each object.
var bounds = door.Bounds{Newcomers: 2048, All: 16_384}

// A Server is a handler at work.
type Server struct {
	Handler http.Handler
	// TLS is the certificate of the listener; nil for plaintext. It may be reloaded while it is in use.
	TLS *scaler.TLS
	// ShutdownTimeout bounds how long Serve waits for requests to end once its context is done.
	ShutdownTimeout time.Duration
	Logger          *slog.Logger
}

// Serve answers requests on listener until ctx is done, lets those under way end, and returns nil after such an end.
// It closes the listener.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{
		Handler:           s.Handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnState:         noteHeard,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
		// Probes that hang up, clients that do not trust the certificate: of interest to who looks for a fault.
		ErrorLog: slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug),
	}
	listener = door.New(listener, bounds, s.Logger)
	if s.TLS != nil {
		listener = tls.NewListener(listener, s.TLS.HTTPConfig())
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("web: serve: %w", err)
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.ShutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ending); err != nil {
		s.Logger.Warn("requests are cut off: the shutdown has taken too long", "timeout", s.ShutdownTimeout)
		_ = server.Close() // nothing could be done about it
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("web: serve: %w", err)
	}
	return nil
}

// connKey is the key of a request's connection.
type connKey struct{}

// Stays says that the request's connection is no newcomer any more, though its first answer does not end: a handler that
// streams calls it once it has let the caller in. Other requests have to be answered first, so that one that is sent little by
// little is none.
func Stays(r *http.Request) {
	if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		door.Heard(conn)
	}
}

// noteHeard tells the door of connections on which a request was answered.
func noteHeard(conn net.Conn, state http.ConnState) {
	if state == http.StateIdle {
		door.Heard(conn)
	}
}
