package auth

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// leafOf returns the certificate by which the peer of ctx proved itself; nil when there is none. A certificate
// that was sent but not verified against the client CA does not count.
func leafOf(ctx context.Context) *x509.Certificate {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 || len(info.State.VerifiedChains[0]) == 0 {
		return nil
	}
	return info.State.VerifiedChains[0][0]
}

// clientOf finds the identity of a verified certificate. Where several clients fit, the first one that has not
// expired counts, alone: scopes of one and sources of another must not add up.
func (s *state) clientOf(leaf *x509.Certificate) (Identity, bool) {
	if !s.clientCA || expired(leaf.NotAfter) {
		return Identity{}, false
	}
	if len(s.clients) == 0 {
		return Identity{
			name:    fmt.Sprintf("certificate %q", nameOf(leaf)),
			grant:   &Grant{Scopes: []Scope{Read}},
			expires: leaf.NotAfter,
		}, true
	}
	for _, c := range s.clients {
		if carries(leaf, c.san) && !expired(c.grant.Expires) {
			return Identity{
				name:    fmt.Sprintf("client %q", c.grant.ID),
				grant:   c.grant,
				expires: earlier(c.grant.Expires, leaf.NotAfter),
			}, true
		}
	}
	return Identity{}, false
}

// carries tells whether the certificate has the subject alternative name. The name's form says of which kind it
// is, so that a DNS name that looks like an address is not taken for one.
func carries(leaf *x509.Certificate, san string) bool {
	if addr, err := netip.ParseAddr(san); err == nil {
		for _, ip := range leaf.IPAddresses {
			if got, ok := netip.AddrFromSlice(ip); ok && got.Unmap() == addr.Unmap() {
				return true
			}
		}
		return false
	}
	switch {
	case strings.Contains(san, ":"):
		for _, uri := range leaf.URIs {
			if uri.String() == san {
				return true
			}
		}
		return false
	case strings.Contains(san, "@"):
		return slices.Contains(leaf.EmailAddresses, san)
	default:
		return slices.ContainsFunc(leaf.DNSNames, func(name string) bool { return strings.EqualFold(name, san) })
	}
}

// nameOf returns the name that tells people most about a certificate.
func nameOf(leaf *x509.Certificate) string {
	switch {
	case len(leaf.URIs) > 0:
		return shorten(leaf.URIs[0].String())
	case len(leaf.DNSNames) > 0:
		return shorten(leaf.DNSNames[0])
	default:
		return shorten(leaf.Subject.CommonName)
	}
}

// earlier returns the earlier of two ends, of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
