package e2e

import (
	"crypto/tls"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

// operator is the name in the certificate of KEDA's operator.
const operator = "spiffe://cluster/ns/keda/sa/keda-operator"

// tlsConfig is a configuration with TLS whose client certificates may read.
const tlsConfig = `
grpc: {tls: {certFile: tls.crt, keyFile: tls.key, clientCAFile: ca.crt}}
clients: [{id: keda, san: "` + operator + `", scopes: [read]}]
`

// serveTLS starts a server with a certificate of one authority, for clients of another.
func serveTLS(t *testing.T, config string, servers, clients *authority) *server {
	t.Helper()
	s := newServer(t)
	// Health is open to everybody; that the certificate is right is for KEDA to see.
	s.creds = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	s.certify(servers.server(), clients.PEM)
	s.configure(config)
	s.start()
	return s
}

// certify writes the server's certificate, key and client CA.
func (s *server) certify(own pair, clientCA string) {
	s.t.Helper()
	for name, content := range map[string]string{"tls.crt": own.cert, "tls.key": own.key, "ca.crt": clientCA} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

func TestTLSAndClientCertificates(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.enqueue("mail", 3)
	servers, clients, strangers := newAuthority(t, "servers"), newAuthority(t, "clients"), newAuthority(t, "strangers")
	keda, somebody, stranger := clients.client(operator), clients.client("spiffe://cluster/ns/x/sa/y"), strangers.client(operator)
	good := newToken(t, "keda")
	s := serveTLS(t, a.source()+tlsConfig+tokensConfig(good), servers, clients)
	byToken := metadata{"queue": "mail", "token": good.Token}
	byCertificate := metadata{"queue": "mail"}

	for name, tr := range map[string]trigger{
		"token and caCert":        {metadata: byToken, auth: map[string]string{"caCert": servers.PEM}},
		"client certificate":      {metadata: byCertificate, auth: auth(servers, keda)},
		"enableTLS and unsafeSsl": {metadata: with(byToken, metadata{"enableTLS": "true", "unsafeSsl": "true"})},
		"enableTLS and caCert":    {metadata: with(byToken, metadata{"enableTLS": "true"}), auth: map[string]string{"caCert": servers.PEM}},
		"token and unknown name":  {metadata: byToken, auth: auth(servers, somebody)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := externalPush(t, s, tr)
			p.woken(promptly)
			p.wants(3)
		})
	}

	for name, c := range map[string]struct {
		trigger

		want codes.Code
	}{
		"plaintext":                          {trigger{metadata: byToken}, codes.Unavailable},
		"no caCert":                          {trigger{metadata: with(byToken, metadata{"enableTLS": "true"})}, codes.Unavailable},
		"another caCert":                     {trigger{metadata: byToken, auth: map[string]string{"caCert": strangers.PEM}}, codes.Unavailable},
		"no credential":                      {trigger{metadata: byCertificate, auth: map[string]string{"caCert": servers.PEM}}, codes.Unauthenticated},
		"client certificate unknown by name": {trigger{metadata: byCertificate, auth: auth(servers, somebody)}, codes.Unauthenticated},
		// A client does not even send a certificate that the server would not trust.
		"client certificate of strangers": {trigger{metadata: byCertificate, auth: auth(servers, stranger)}, codes.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := externalPush(t, s, c.trigger)
			if _, _, err := p.GetMetricsAndActivity(p.context(), "s0-"); status.Code(err) != c.want {
				t.Errorf("got %v, want %v", err, c.want)
			}
			p.ends(c.want)
		})
	}
}

// New certificates are for new connections; streams that are open stay.
func TestCertificateRotationKeepsStreams(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	old, next := newAuthority(t, "old"), newAuthority(t, "next")
	s := serveTLS(t, a.source()+tlsConfig, old, old)
	before := externalPush(t, s, trigger{object: "before", metadata: metadata{"queue": "mail"}, auth: auth(old, old.client(operator))})
	before.opens()

	s.certify(next.server(), old.PEM+next.PEM)
	after := external(t, s, trigger{object: "after", metadata: metadata{"queue": "mail"}, auth: auth(next, next.client(operator))})
	eventually(t, reload, "the new certificates are in force", func() bool {
		_, _, err := after.GetMetricsAndActivity(after.context(), "s0-")
		return err == nil
	})
	before.wokenBy(func() { a.enqueue("mail", 1) }, promptly)
	before.wants(1)
	after.becomes(1)
	if errs := streamErrors(before.object); len(errs) > 0 {
		t.Errorf("new certificates ended a stream: %q", errs)
	}
}

// auth is a TriggerAuthentication with a server's CA and a client's certificate.
func auth(servers *authority, client pair) map[string]string {
	return map[string]string{"caCert": servers.PEM, "tlsClientCert": client.cert, "tlsClientKey": client.key}
}

// with is metadata with more.
func with(base, more metadata) metadata {
	all := maps.Clone(base)
	maps.Copy(all, more)
	return all
}
