package scaler_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/memory"
)

// An issuer signs certificates for servers and clients named by DNS.
type issuer struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t}
	i.cert, i.key = i.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return i
}

// sign makes a certificate, signed by itself while the issuer has none.
func (i *issuer) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	i.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(24 * time.Hour)
	parent, signer := i.cert, i.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		i.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		i.t.Fatal(err)
	}
	return cert, key
}

// issue returns a certificate for name as PEM.
func (i *issuer) issue(name string) (cert, key []byte) {
	i.t.Helper()
	leaf, private := i.sign(&x509.Certificate{
		DNSNames: []string{name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	})
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		i.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// client returns what KEDA makes of caCert, tlsClientCert and tlsClientKey; no name is no client certificate.
func (i *issuer) client(name string) grpc.DialOption {
	i.t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "leadsman", MinVersion: tls.VersionTLS12}
	config.RootCAs.AddCert(i.cert)
	if name != "" {
		pair, err := tls.X509KeyPair(i.issue(name))
		if err != nil {
			i.t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return grpc.WithTransportCredentials(credentials.NewTLS(config))
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Cases 65, 66 and 68: of a TriggerAuthentication, TLS material alone reaches a scaler. The files behind it are
// rewritten while streams are open.
func TestClientCertificateReadsWithoutATokenAndFilesRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, dir := newIssuer(t), t.TempDir()
		files := scaler.Files{
			Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), ClientCA: filepath.Join(dir, "ca.crt"),
		}
		rotate := func() []byte {
			cert, key := ca.issue("leadsman")
			write(t, files.Cert, cert)
			write(t, files.Key, key)
			block, _ := pem.Decode(cert)
			return block.Bytes
		}
		rotate()
		write(t, files.ClientCA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.cert.Raw}))
		secure, err := scaler.NewTLS(files, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		store := memory.New()
		b := serve(t, func(o *scaler.Options) {
			o.TLS = secure
			o.Access = scaler.Access{ClientCA: true, Clients: []scaler.Client{
				{SAN: "keda", Grant: scaler.Grant{ID: "keda", Scopes: []scaler.Scope{scaler.ScopeRead}}},
			}}
		}, source(t, "jobs", store))
		as := func(name string) pb.ExternalScalerClient { return pb.NewExternalScalerClient(b.dial(ca.client(name))) }

		b.ExternalScalerClient = as("keda")
		b.wantActive(ref("queue", "mail"), false)
		_, err = as("").IsActive(t.Context(), ref("queue", "mail"))
		wantStatus(t, err, codes.Unauthenticated)
		_, err = as("stranger").IsActive(t.Context(), ref("queue", "mail"))
		wantStatus(t, err, codes.Unauthenticated)

		stream := b.listen(ref("queue", "mail"))
		renewed := rotate()
		if changed, err := secure.Reload(); !changed || err != nil {
			t.Fatalf("Reload = %v, %v", changed, err)
		}
		config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}
		raw, err := b.listener.DialContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conn := tls.Client(raw, config)
		defer conn.Close()
		if err := conn.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := conn.ConnectionState().PeerCertificates[0].Raw; !bytes.Equal(got, renewed) {
			t.Error("a new connection gets the old certificate")
		}
		store.Enqueue("mail", 1)
		time.Sleep(time.Second)
		if !stream.open() || len(stream.times()) != 1 {
			t.Errorf("the stream of before: open = %v, trues = %v, want it open and told", stream.open(), stream.times())
		}
	})
}
