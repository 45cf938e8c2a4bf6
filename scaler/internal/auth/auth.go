// Package auth decides who may ask leadsman what.
//
// A caller proves itself with a token, carried as "authorization: Bearer …" or, because KEDA sends no such
// header, in a trigger's metadata, or with a client certificate. What it proves is a [Grant]: scopes, narrowed
// by source, queue and Kubernetes namespace, until a date. An [Authority] holds the grants in force and swaps
// them while the server runs; its interceptors stand in front of every RPC, and the handlers of KEDA's service,
// whose token travels inside the request, finish the work with [Authority.Identify].
//
// The package also keeps the server's certificates current ([TLS]) and puts the most frequent mistake of a set-up,
// plaintext to a TLS port and back, into words ([WithHints]).
//
// Tokens are known here by their SHA-256 only. No token, and no part of its secret, is in any error or log line.
// The package starts no goroutine.
package auth

import (
	"slices"
	"time"
)

// A Scope is a kind of request.
type Scope string

// The scopes.
const (
	Read    Scope = "read"    // KEDA's five RPCs
	Inspect Scope = "inspect" // the Inspector and server reflection
	Signal  Scope = "signal"  // telling the server that a queue changed
)

// Scopes returns every scope there is.
func Scopes() []Scope { return []Scope{Read, Inspect, Signal} }

// A Grant is what a credential is good for. An empty list puts no limit.
type Grant struct {
	// ID names the credential in logs and errors. It is no secret.
	ID         string
	Scopes     []Scope
	Sources    []string // names
	Queues     []string // names or globs; "*" stands for any run of characters, "?" for one
	Namespaces []string // names of Kubernetes namespaces
	// Expires is when the grant ends; zero means never.
	Expires time.Time
}

// A Token is a grant to whoever presents the token of this digest.
type Token struct {
	Grant

	// SHA256 is the digest of the whole token in hexadecimal, as [Mint] returns it.
	SHA256 string
}

// A Client is a grant to whoever holds a certificate, signed by the client CA, with this subject alternative name.
type Client struct {
	Grant

	// SAN is an IP address, a URI, an email address or a DNS name, and is compared with the certificate's
	// names of that kind only.
	SAN string
}

// A Policy is everything that gives access. The zero Policy, with neither tokens nor a client CA, leaves the
// server open: everybody may do everything.
type Policy struct {
	Tokens  []Token
	Clients []Client
	// ClientCA is set when client certificates are verified. With no Clients listed, each verified
	// certificate may read everything.
	ClientCA bool
}

// clone returns a Grant that shares nothing with g, its globs in canonical form.
func (g Grant) clone() *Grant {
	g.Scopes = slices.Clone(g.Scopes)
	g.Sources = slices.Clone(g.Sources)
	g.Queues = slices.Clone(g.Queues)
	for i, glob := range g.Queues {
		g.Queues[i] = canonical(glob)
	}
	g.Namespaces = slices.Clone(g.Namespaces)
	return &g
}

// expired tells whether a grant or certificate that ends at t has ended; the zero time never does.
func expired(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }
