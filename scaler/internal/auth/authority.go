package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
)

// An Authority knows the policy in force. Its methods may be called from several goroutines; a [Authority.Set]
// takes effect for every question asked after it.
type Authority struct {
	current  atomic.Pointer[state]
	logger   *slog.Logger
	refusals limiter
}

// state is a policy made ready for questions; it is never changed.
type state struct {
	tokens   []tokenEntry
	clients  []clientEntry
	clientCA bool
	changed  chan struct{} // closed when another state has taken this one's place
}

type tokenEntry struct {
	digest [sha256.Size]byte
	grant  *Grant
}

type clientEntry struct {
	san   string
	grant *Grant
}

// New makes an Authority with the policy; logger gets the reasons of refusals.
func New(policy Policy, logger *slog.Logger) (*Authority, error) {
	a := &Authority{logger: logger, refusals: limiter{every: 10 * time.Second}}
	first, err := newState(policy)
	if err != nil {
		return nil, err
	}
	a.current.Store(first)
	return a, nil
}

// Set puts another policy in force and closes the channel that [Authority.Changed] gave out. A policy with a
// malformed digest or a client without a name is refused, and the old one stays.
func (a *Authority) Set(policy Policy) error {
	next, err := newState(policy)
	if err != nil {
		return err
	}
	close(a.current.Swap(next).changed)
	return nil
}

// Changed returns a channel that is closed at the next Set. A stream takes it before it identifies its caller,
// and when it closes takes the next one and identifies the caller again: no change falls between.
func (a *Authority) Changed() <-chan struct{} { return a.current.Load().changed }

// Open tells whether everybody may do everything.
func (a *Authority) Open() bool { return a.current.Load().open() }

// Authenticate finds out who is asking. bearer is the token of an authorization header, metadataToken that of a
// trigger; "" means that there is none. The most explicit credential decides, alone: header, then metadata, then
// the client certificate of the connection. One that is wrong is never rescued by another.
//
// The error is [ErrUnauthenticated], and its reason is logged.
func (a *Authority) Authenticate(ctx context.Context, bearer, metadataToken string) (Identity, error) {
	who := &caller{leaf: leafOf(ctx)}
	if bearer != "" {
		who.header = present(bearer)
	}
	return a.identify(ctx, a.current.Load(), who, metadataToken)
}

// identify decides by the state; open ones know no credential and no refusal.
func (a *Authority) identify(ctx context.Context, s *state, who *caller, metadataToken string) (Identity, error) {
	if s.open() {
		return anyone(), nil
	}
	id, reason := s.decide(who, metadataToken)
	if reason != "" {
		a.refused(ctx, who.method, reason)
		return Identity{}, ErrUnauthenticated
	}
	return id, nil
}

func newState(policy Policy) (*state, error) {
	s := &state{clientCA: policy.ClientCA, changed: make(chan struct{})}
	for _, t := range policy.Tokens {
		sum, err := hex.DecodeString(t.SHA256)
		if err != nil || len(sum) != sha256.Size {
			return nil, fmt.Errorf("token %q: sha256 must be 64 hexadecimal digits", t.ID)
		}
		s.tokens = append(s.tokens, tokenEntry{digest: [sha256.Size]byte(sum), grant: t.Grant.clone()})
	}
	for _, c := range policy.Clients {
		if c.SAN == "" {
			return nil, fmt.Errorf("client %q: san is empty", c.ID)
		}
		s.clients = append(s.clients, clientEntry{san: c.SAN, grant: c.Grant.clone()})
	}
	return s, nil
}

func (s *state) open() bool { return len(s.tokens) == 0 && !s.clientCA }

// decide returns who the caller is, or why it is nobody; the reason is for the log.
func (s *state) decide(who *caller, metadataToken string) (_ Identity, reason string) {
	switch {
	case who.header != nil:
		return s.holder(who.header)
	case metadataToken != "":
		return s.holder(present(metadataToken))
	case who.leaf != nil:
		return s.certified(who.leaf)
	default:
		return Identity{}, "no credential"
	}
}

// holder finds the identity of a token. It compares with every digest there is, so the time it takes tells
// nothing about the token, not even whether its id exists.
func (s *state) holder(p *presented) (_ Identity, reason string) {
	if p.fault != "" {
		return Identity{}, p.fault
	}
	var found *Grant
	for i := range s.tokens {
		if subtle.ConstantTimeCompare(p.digest[:], s.tokens[i].digest[:]) == 1 {
			found = s.tokens[i].grant
		}
	}
	switch {
	case found == nil:
		return Identity{}, "unknown token"
	case expired(found.Expires):
		return Identity{}, fmt.Sprintf("token %q expired at %s", found.ID, found.Expires.Format(time.RFC3339))
	}
	return Identity{name: fmt.Sprintf("token %q", found.ID), grant: found, expires: found.Expires}, ""
}

func (s *state) certified(leaf *x509.Certificate) (_ Identity, reason string) {
	id, ok := s.clientOf(leaf)
	if !ok {
		return Identity{}, fmt.Sprintf("certificate %q is not a client's, or has expired", nameOf(leaf))
	}
	return id, ""
}

// presented is a token as a caller sent it, without the token.
type presented struct {
	digest [sha256.Size]byte
	fault  string // why it cannot be a token; "" when it can
}

func present(token string) *presented {
	token = strings.TrimSpace(token) // Secrets made with echo end with a newline
	switch {
	case token == "":
		return &presented{fault: "empty token"}
	case len(token) > MaxToken:
		return &presented{fault: "oversized token"}
	}
	return &presented{digest: sha256.Sum256([]byte(token))}
}
