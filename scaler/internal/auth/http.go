package auth

import (
	"context"
	"net"
	"net/http"
	"net/netip"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// AdmitHTTP reads who makes an HTTP request and returns the context by which [Authority.Identify] knows that caller
// and checks the scope. With everybody set, whoever asks is let in, as on a server without any credentials.
//
// The token comes in one of four places, of which the first that is there decides alone: the header Authorization
// (Bearer), the header X-API-KEY, and the query parameters api_key and token. Without any, a client certificate that
// the listener has verified counts.
func (a *Authority) AdmitHTTP(r *http.Request, scope Scope, everybody bool) context.Context {
	// Seen as the peer of an RPC, so that certificates, refusals and their log lines are the same.
	ctx := peer.NewContext(r.Context(), peerOf(r))
	return context.WithValue(ctx, callerKey{}, &caller{
		method: r.Pattern,
		rule:   rule{scope: scope, open: everybody},
		header: fromRequest(r),
		leaf:   leafOf(ctx),
	})
}

// fromRequest returns the token of a request; nil when there is none.
func fromRequest(r *http.Request) *presented {
	parameters := r.URL.Query()
	for _, place := range []struct {
		values []string
		read   func(string) *presented
	}{
		{r.Header.Values("Authorization"), fromHeader},
		{r.Header.Values("X-Api-Key"), present},
		{parameters["api_key"], present},
		{parameters["token"], present},
	} {
		switch len(place.values) {
		case 0:
		case 1:
			return place.read(place.values[0])
		default:
			return &presented{fault: "several tokens in one place"}
		}
	}
	return nil
}

func peerOf(r *http.Request) *peer.Peer {
	p := &peer.Peer{}
	if addr, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		p.Addr = net.TCPAddrFromAddrPort(addr)
	}
	if r.TLS != nil {
		p.AuthInfo = credentials.TLSInfo{State: *r.TLS}
	}
	return p
}
