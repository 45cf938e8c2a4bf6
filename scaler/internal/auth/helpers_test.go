package auth_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/leadsman/leadsman/scaler/internal/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal is a log that a test reads.
type journal struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.buf.String()
}

func newLogger() (*slog.Logger, *journal) {
	j := &journal{}
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug})), j
}

// authority makes an Authority whose log nobody reads.
func authority(t *testing.T, policy auth.Policy) *auth.Authority {
	t.Helper()
	a, err := auth.New(policy, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// mint makes a token and its entry in a policy.
func mint(t *testing.T, grant auth.Grant) (string, auth.Token) {
	t.Helper()
	token, sum, err := auth.Mint(grant.ID)
	if err != nil {
		t.Fatal(err)
	}
	return token, auth.Token{Grant: grant, SHA256: sum}
}

// scaler is KEDA's service, with the questions to auth that a handler has to ask and nothing else.
type scaler struct {
	externalscaler.UnimplementedExternalScalerServer

	authority *auth.Authority
}

func (s scaler) IsActive(ctx context.Context, ref *externalscaler.ScaledObjectRef) (*externalscaler.IsActiveResponse, error) {
	id, err := s.authority.Identify(ctx, ref.GetScalerMetadata())
	if err != nil {
		return nil, err
	}
	if source := ref.GetScalerMetadata()["source"]; !id.Source(source) {
		return nil, id.Denied("source", source)
	}
	return &externalscaler.IsActiveResponse{Result: true}, nil
}

// StreamIsActive sends once when it has begun, and lasts as long as its caller's grant.
func (s scaler) StreamIsActive(ref *externalscaler.ScaledObjectRef, stream externalscaler.ExternalScaler_StreamIsActiveServer) error {
	for first := true; ; first = false {
		changed := s.authority.Changed()
		if _, err := s.authority.Identify(stream.Context(), ref.GetScalerMetadata()); err != nil {
			return err
		}
		if first {
			if err := stream.Send(&externalscaler.IsActiveResponse{Result: true}); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

// serve starts a server on loopback with KEDA's service, health and reflection, and returns its address.
func serve(t *testing.T, a *auth.Authority, creds credentials.TransportCredentials) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(creds), grpc.UnaryInterceptor(a.UnaryInterceptor), grpc.StreamInterceptor(a.StreamInterceptor))
	externalscaler.RegisterExternalScalerServer(server, scaler{authority: a})
	healthpb.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return listener.Addr().String()
}

// dial connects to a server; nil credentials mean plaintext.
func dial(t *testing.T, addr string, config *tls.Config) *grpc.ClientConn {
	t.Helper()
	creds := insecure.NewCredentials()
	if config != nil {
		creds = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// authorityCA signs certificates.
type authorityCA struct {
	cert *x509.Certificate
	key  crypto.Signer
	pem  []byte
}

func newCA(t *testing.T) *authorityCA {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "test CA"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	key, der := sign(t, template, template, nil)
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authorityCA{cert: cert, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue makes a certificate for servers and clients, as PEM.
func (ca *authorityCA) issue(t *testing.T, template x509.Certificate) (certPEM, keyPEM []byte) {
	t.Helper()
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	key, der := sign(t, &template, ca.cert, ca.key)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// pair is issue for a client's tls.Config.
func (ca *authorityCA) pair(t *testing.T, template x509.Certificate) tls.Certificate {
	t.Helper()
	certPEM, keyPEM := ca.issue(t, template)
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

func (ca *authorityCA) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	return pool
}

func sign(t *testing.T, template, parent *x509.Certificate, signer crypto.Signer) (crypto.Signer, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if signer == nil {
		signer = key
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<60)); err != nil {
		t.Fatal(err)
	}
	template.NotBefore = time.Now().Add(-time.Hour)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return key, der
}

// loopback is a server's certificate for 127.0.0.1.
var loopback = x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}

// files is a folder of PEM files that a test rotates.
type files struct {
	auth.Files

	t *testing.T
}

func newFiles(t *testing.T, server, clients *authorityCA) files {
	t.Helper()
	dir := t.TempDir()
	f := files{t: t, Files: auth.Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}}
	f.issue(server)
	if clients != nil {
		f.ClientCA = filepath.Join(dir, "ca.crt")
		f.write(f.ClientCA, clients.pem)
	}
	return f
}

func (f files) issue(ca *authorityCA) {
	f.t.Helper()
	certPEM, keyPEM := ca.issue(f.t, loopback)
	f.write(f.Cert, certPEM)
	f.write(f.Key, keyPEM)
}

func (f files) write(name string, data []byte) {
	f.t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited 10s for %s", what)
		}
	}
}
