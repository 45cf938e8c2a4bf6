package scaler

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/leadsman/leadsman/scaler/internal/auth"
)

// What follows is package auth's, for programs that set a server up.

// Access is everything that gives access: tokens, and certificates of clients.
type Access = auth.Policy

// A Grant is what a credential is good for; an empty list puts no limit.
type Grant = auth.Grant

// A Token is a grant to whoever presents the token of this digest.
type Token = auth.Token

// A Client is a grant to whoever holds a certificate with this subject alternative name.
type Client = auth.Client

// A Scope is a kind of request.
type Scope = auth.Scope

// The scopes.
const (
	ScopeRead    = auth.Read    // KEDA's RPCs
	ScopeInspect = auth.Inspect // the Inspector and server reflection
	ScopeSignal  = auth.Signal  // telling the server that a queue changed
)

// TLS is a server's certificate and client CA, kept current.
type TLS = auth.TLS

// Files are where a server's certificate, its key and the CA of its clients are.
type Files = auth.Files

// NewTLS loads the files. The server picks up later versions of them whenever Reload is called.
func NewTLS(files Files, log *slog.Logger) (*TLS, error) {
	t, err := auth.NewTLS(files, log)
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return t, nil
}

// AdmitHTTP reads who makes an HTTP request and returns the context by which [Server.Identify] knows that caller and
// checks the scope; with everybody set it lets anyone in. The first of these that is there decides alone: the header
// Authorization (Bearer), the header X-API-KEY, the query parameters api_key and token, a verified client certificate.
func (s *Server) AdmitHTTP(r *http.Request, scope Scope, everybody bool) context.Context {
	return s.access.AdmitHTTP(r, scope, everybody)
}

// SetAccess puts other access rules in force, for open streams too: those whose caller has lost the permission end.
// Rules that are malformed are refused, and the old ones stay.
func (s *Server) SetAccess(access Access) error {
	if err := s.access.Set(access); err != nil {
		return fmt.Errorf("access: %w", err)
	}
	return nil
}
