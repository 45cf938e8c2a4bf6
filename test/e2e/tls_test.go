package e2e

import (
	"crypto/tls"
	"maps"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// operator is the name in the certificate of KEDA's operator.
const operator = "spiffe://cluster/ns/keda/sa/keda-operator"

// tlsConfig is a configuration with TLS whose client certificates may read.
const tlsConfig = `
grpc: {tls: {certFile: tls.crt, keyFile: tls.key, clientCAFile: ca.crt}}
clients: [{id: keda, san: "` + operator + `", scopes: [read]}]
`

// serveTLS starts a server with a certificate of one authority, for clients of another.
func serveTLS(t *testing.T, config string, servers, clients *rig.Authority) *rig.Server {
	t.Helper()
	s := rig.NewServer(t)
	// Health is open to everybody; that the certificate is right is for KEDA to see.
	s.Credentials = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	s.Certify(servers.Server(), clients.PEM)
	s.Configure(config)
	s.Start()
	return s
}

func TestTLSAndClientCertificates(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	a.Enqueue("mail", 3)
	servers, clients, strangers := rig.NewAuthority(t, "servers"), rig.NewAuthority(t, "clients"), rig.NewAuthority(t, "strangers")
	keda, somebody, stranger := clients.Client(operator), clients.Client("spiffe://cluster/ns/x/sa/y"), strangers.Client(operator)
	good := rig.NewToken(t, "keda")
	s := serveTLS(t, a.Source()+tlsConfig+rig.TokensConfig(good), servers, clients)
	byToken := rig.Metadata{"queue": "mail", "token": good.Token}
	byCertificate := rig.Metadata{"queue": "mail"}

	for name, tr := range map[string]rig.Trigger{
		"token and caCert":        {Metadata: byToken, Auth: map[string]string{"caCert": servers.PEM}},
		"client certificate":      {Metadata: byCertificate, Auth: auth(servers, keda)},
		"enableTLS and unsafeSsl": {Metadata: with(byToken, rig.Metadata{"enableTLS": "true", "unsafeSsl": "true"})},
		"enableTLS and caCert":    {Metadata: with(byToken, rig.Metadata{"enableTLS": "true"}), Auth: map[string]string{"caCert": servers.PEM}},
		"token and unknown name":  {Metadata: byToken, Auth: auth(servers, somebody)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := rig.ExternalPush(t, s, tr)
			p.Woken(rig.Promptly)
			p.Wants(3)
		})
	}

	for name, c := range map[string]struct {
		rig.Trigger

		want codes.Code
	}{
		"plaintext":                          {rig.Trigger{Metadata: byToken}, codes.Unavailable},
		"no caCert":                          {rig.Trigger{Metadata: with(byToken, rig.Metadata{"enableTLS": "true"})}, codes.Unavailable},
		"another caCert":                     {rig.Trigger{Metadata: byToken, Auth: map[string]string{"caCert": strangers.PEM}}, codes.Unavailable},
		"no credential":                      {rig.Trigger{Metadata: byCertificate, Auth: map[string]string{"caCert": servers.PEM}}, codes.Unauthenticated},
		"client certificate unknown by name": {rig.Trigger{Metadata: byCertificate, Auth: auth(servers, somebody)}, codes.Unauthenticated},
		// A client does not even send a certificate that the server would not trust.
		"client certificate of strangers": {rig.Trigger{Metadata: byCertificate, Auth: auth(servers, stranger)}, codes.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := rig.ExternalPush(t, s, c.Trigger)
			if _, _, err := p.GetMetricsAndActivity(p.Context(), "s0-"); status.Code(err) != c.want {
				t.Errorf("got %v, want %v", err, c.want)
			}
			p.Ends(c.want)
		})
	}
}

// New certificates are for new connections; streams that are open stay.
func TestCertificateRotationKeepsStreams(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	old, next := rig.NewAuthority(t, "old"), rig.NewAuthority(t, "next")
	s := serveTLS(t, a.Source()+tlsConfig, old, old)
	before := rig.ExternalPush(t, s, rig.Trigger{Object: "before", Metadata: rig.Metadata{"queue": "mail"}, Auth: auth(old, old.Client(operator))})
	before.Opens()

	s.Certify(next.Server(), old.PEM+next.PEM)
	after := rig.External(t, s, rig.Trigger{Object: "after", Metadata: rig.Metadata{"queue": "mail"}, Auth: auth(next, next.Client(operator))})
	rig.Eventually(t, rig.Reload, "the new certificates are in force", func() bool {
		_, _, err := after.GetMetricsAndActivity(after.Context(), "s0-")
		return err == nil
	})
	before.WokenBy(func() { a.Enqueue("mail", 1) }, rig.Promptly)
	before.Wants(1)
	after.Becomes(1)
	if errs := rig.StreamErrors(before.Object); len(errs) > 0 {
		t.Errorf("new certificates ended a stream: %q", errs)
	}
}

// auth is a TriggerAuthentication with a server's CA and a client's certificate.
func auth(servers *rig.Authority, client rig.Pair) map[string]string {
	return map[string]string{"caCert": servers.PEM, "tlsClientCert": client.Cert, "tlsClientKey": client.Key}
}

// with is metadata with more.
func with(base, more rig.Metadata) rig.Metadata {
	all := maps.Clone(base)
	maps.Copy(all, more)
	return all
}
