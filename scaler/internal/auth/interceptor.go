package auth

import (
	"context"
	"strings"

	"google.golang.org/grpc"
)

// A rule is what a method asks of its callers while a policy is in force.
type rule struct {
	scope Scope
	// open lets everybody in.
	open bool
	// inHandler leaves the decision to the handler's call of Identify, because the token may be in the
	// request. A header that is present is still checked at once.
	inHandler bool
}

// rules says who may call what: the first prefix of a method's full name decides. The last one matches all.
var rules = [...]struct {
	prefix string
	rule   rule
}{
	{"/grpc.health.v1.Health/", rule{open: true}},
	{"/externalscaler.ExternalScaler/", rule{scope: Read, inHandler: true}},
	{"/leadsman.v1.Inspector/", rule{scope: Inspect}},
	{"/leadsman.v1.Signals/", rule{scope: Signal}},
	{"/grpc.reflection.", rule{scope: Inspect}},
	{"/", rule{scope: Inspect}},
}

// UnaryInterceptor refuses unary calls of callers that are nobody or lack the method's scope, and makes Identify
// work in the handlers behind it.
func (a *Authority) UnaryInterceptor(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if a.Open() { // nobody is asked who they are; a policy that comes while the call lasts refuses it
		return handler(ctx, req)
	}
	ctx, err := a.admit(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

// StreamInterceptor does for streams what UnaryInterceptor does for unary calls.
func (a *Authority) StreamInterceptor(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, err := a.admit(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return handler(srv, &admitted{ServerStream: stream, ctx: ctx})
}

// admit checks what can be checked before the request is read, and returns the context for the handler.
func (a *Authority) admit(ctx context.Context, method string) (context.Context, error) {
	r := ruleOf(method)
	if r.open {
		return ctx, nil
	}
	who := newCaller(ctx, method, r)
	ctx = context.WithValue(ctx, callerKey{}, who)
	if r.inHandler && who.header == nil {
		return ctx, nil
	}
	_, err := a.Identify(ctx, nil)
	return ctx, err
}

func ruleOf(method string) rule {
	for _, entry := range rules {
		if strings.HasPrefix(method, entry.prefix) {
			return entry.rule
		}
	}
	return rules[len(rules)-1].rule
}

// admitted is a stream whose context knows its caller.
type admitted struct {
	grpc.ServerStream

	ctx context.Context //nolint:containedctx // the interface hands the context out through a method
}

// Context returns the stream's context.
func (s *admitted) Context() context.Context { return s.ctx }
