package auth

import (
	"context"
	"crypto/x509"
	"log/slog"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// caller is what the interceptors know of whoever calls, kept in the context so that a stream can be judged
// again by another policy. It holds no token.
type caller struct {
	method string
	rule   rule
	header *presented        // nil without an authorization header
	leaf   *x509.Certificate // nil without a verified certificate
}

type callerKey struct{}

// Identify finds out who is asking, from what the interceptors left in ctx and from the metadata of a trigger
// (nil where there is none), and checks the scope that the method needs. The token is under "token" or, resolved
// by KEDA, "tokenFromEnv"; the plain key wins.
//
// The error is [ErrUnauthenticated] or a [DeniedError]; both carry their gRPC status.
func (a *Authority) Identify(ctx context.Context, scalerMetadata map[string]string) (Identity, error) {
	s := a.current.Load()
	who, ok := ctx.Value(callerKey{}).(*caller)
	if !ok && !s.open() {
		// A server that was wired without the interceptors must not be an open one.
		a.refused(ctx, "", "the server has no interceptor")
		return Identity{}, ErrUnauthenticated
	}
	if who != nil && who.rule.open {
		return anyone(), nil
	}
	id, err := a.identify(ctx, s, who, metadataToken(scalerMetadata))
	if err != nil {
		return Identity{}, err
	}
	if who != nil {
		err = id.Check(who.rule.scope)
	}
	if err != nil {
		a.refused(ctx, who.method, err.Error())
		return Identity{}, err
	}
	return id, nil
}

// newCaller reads the header and the certificate of a call.
func newCaller(ctx context.Context, method string, r rule) *caller {
	who := &caller{method: method, rule: r, leaf: leafOf(ctx)}
	switch values := metadata.ValueFromIncomingContext(ctx, "authorization"); len(values) {
	case 0:
	case 1:
		who.header = fromHeader(values[0])
	default:
		who.header = &presented{fault: "several authorization headers"}
	}
	return who
}

// fromHeader takes the token out of a header; the scheme is written in any case (RFC 9110, 11.1).
func fromHeader(value string) *presented {
	scheme, token, ok := strings.Cut(strings.TrimSpace(value), " ")
	if !ok || !strings.EqualFold(scheme, "bearer") {
		return &presented{fault: "malformed authorization header"}
	}
	return present(token)
}

func metadataToken(scalerMetadata map[string]string) string {
	if token := strings.TrimSpace(scalerMetadata["token"]); token != "" {
		return token
	}
	return strings.TrimSpace(scalerMetadata["tokenFromEnv"])
}

// refused logs why a call was refused; the caller itself is told less.
func (a *Authority) refused(ctx context.Context, method, reason string) {
	missed, ok := a.refusals.allow()
	if !ok {
		return
	}
	attrs := []slog.Attr{slog.String("reason", reason), slog.String("method", method)}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		attrs = append(attrs, slog.String("peer", p.Addr.String()))
	}
	if missed > 0 {
		attrs = append(attrs, slog.Int("refusals_not_logged", missed))
	}
	a.logger.LogAttrs(ctx, slog.LevelWarn, "request refused", attrs...)
}
