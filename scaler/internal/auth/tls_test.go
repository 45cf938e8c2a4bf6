package auth_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	"github.com/leadsman/leadsman/scaler/internal/auth"
)

func TestNewTLSNamesTheFileAtFault(t *testing.T) {
	ca := newCA(t)
	for name, tc := range map[string]struct {
		spoil func(f *files)
		want  string
	}{
		"certificate missing": {func(f *files) { f.Cert += ".gone" }, "tls.crt.gone"},
		"key missing":         {func(f *files) { f.Key += ".gone" }, "tls.key.gone"},
		"client CA missing":   {func(f *files) { f.ClientCA += ".gone" }, "ca.crt.gone"},
		"certificate garbled": {func(f *files) { f.write(f.Cert, []byte("x")) }, "tls.crt"},
		"pair does not fit": {func(f *files) {
			_, key := ca.issue(t, loopback)
			f.write(f.Key, key)
		}, "tls.key: tls: private key does not match"},
		"client CA empty": {func(f *files) { f.write(f.ClientCA, nil) }, "ca.crt: no PEM certificate"},
		"client CA garbled": {func(f *files) {
			f.write(f.ClientCA, []byte("-----BEGIN CERTIFICATE-----\neA==\n-----END CERTIFICATE-----\n"))
		}, "ca.crt: x509"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFiles(t, ca, ca)
			tc.spoil(&f)
			if _, err := auth.NewTLS(f.Files, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

// Case 68: the files are rewritten while a stream is open. New connections get the new certificate, the stream lives.
func TestReloadedCertificateServesNewConnectionsAndKeepsStreams(t *testing.T) {
	before, after := newCA(t), newCA(t)
	f := newFiles(t, before, nil)
	served, err := auth.NewTLS(f.Files, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	addr := serve(t, authority(t, auth.Policy{}), credentials.NewTLS(served.Config()))
	old := dial(t, addr, &tls.Config{RootCAs: before.pool()})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := externalscaler.NewExternalScalerClient(old).StreamIsActive(ctx, &externalscaler.ScaledObjectRef{})
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}

	if changed, err := served.Reload(); changed || err != nil {
		t.Fatalf("Reload without a change = %v, %v", changed, err)
	}
	f.issue(after)
	if changed, err := served.Reload(); !changed || err != nil {
		t.Fatalf("Reload = %v, %v", changed, err)
	}
	if got := isHealthy(t.Context(), dial(t, addr, &tls.Config{RootCAs: after.pool()})); got != codes.OK {
		t.Errorf("a new connection that trusts the new CA: %v", got)
	}
	if got := isHealthy(t.Context(), dial(t, addr, &tls.Config{RootCAs: before.pool()})); got != codes.Unavailable {
		t.Errorf("a new connection that trusts the old CA: %v", got)
	}
	if got := isHealthy(t.Context(), old); got != codes.OK {
		t.Errorf("the connection with the stream: %v", got)
	}
	if stream.Context().Err() != nil {
		t.Error("the stream has ended")
	}
}

func TestHalfRotatedPairKeepsTheOldOneAndIsLoggedOnce(t *testing.T) {
	before, after := newCA(t), newCA(t)
	f := newFiles(t, before, nil)
	logger, log := newLogger()
	served, err := auth.NewTLS(f.Files, logger)
	if err != nil {
		t.Fatal(err)
	}
	addr := serve(t, authority(t, auth.Policy{}), credentials.NewTLS(served.Config()))

	certPEM, keyPEM := after.issue(t, loopback)
	f.write(f.Cert, certPEM)
	for range 3 {
		if changed, err := served.Reload(); changed || err == nil {
			t.Fatalf("Reload of half a pair = %v, %v", changed, err)
		}
	}
	if got := strings.Count(log.String(), "the old ones stay"); got != 1 {
		t.Errorf("%d complaints about one fault:\n%s", got, log)
	}
	if got := isHealthy(t.Context(), dial(t, addr, &tls.Config{RootCAs: before.pool()})); got != codes.OK {
		t.Errorf("with half a pair on disk: %v", got)
	}
	f.write(f.Key, keyPEM)
	if changed, err := served.Reload(); !changed || err != nil {
		t.Fatalf("Reload of the whole pair = %v, %v", changed, err)
	}
	if err := os.Remove(f.Key); err != nil {
		t.Fatal(err)
	}
	if changed, err := served.Reload(); changed || err == nil {
		t.Fatalf("Reload of a missing key = %v, %v", changed, err)
	}
	if got := isHealthy(t.Context(), dial(t, addr, &tls.Config{RootCAs: after.pool()})); got != codes.OK {
		t.Errorf("after the rotation: %v", got)
	}
}

// A session that was resumed would bring the verification by the old client CA along.
func TestRotatedClientCAShutsOutOldClientsThatWouldResume(t *testing.T) {
	server, before, after := newCA(t), newCA(t), newCA(t)
	f := newFiles(t, server, before)
	served, err := auth.NewTLS(f.Files, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	addr := serve(t, authority(t, auth.Policy{ClientCA: true}), credentials.NewTLS(served.Config()))
	config := &tls.Config{
		RootCAs: server.pool(), ClientSessionCache: tls.NewLRUClientSessionCache(8),
		Certificates: []tls.Certificate{before.pair(t, x509.Certificate{DNSNames: []string{"keda"}})},
	}
	if got := isActive(t.Context(), dial(t, addr, config), nil); got != codes.OK {
		t.Fatalf("before: %v", got)
	}
	f.write(f.ClientCA, after.pem)
	if changed, err := served.Reload(); !changed || err != nil {
		t.Fatalf("Reload = %v, %v", changed, err)
	}
	if got := isActive(t.Context(), dial(t, addr, config), nil); got == codes.OK {
		t.Error("a client of the old CA still gets in")
	}
	config.Certificates = []tls.Certificate{after.pair(t, x509.Certificate{DNSNames: []string{"keda"}})}
	if got := isActive(t.Context(), dial(t, addr, config), nil); got != codes.OK {
		t.Errorf("a client of the new CA: %v", got)
	}
}

func TestOldTLSVersionsAreRefused(t *testing.T) {
	ca := newCA(t)
	served, err := auth.NewTLS(newFiles(t, ca, nil).Files, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	addr := serve(t, authority(t, auth.Policy{}), credentials.NewTLS(served.Config()))
	conn, err := tls.Dial("tcp", addr, &tls.Config{RootCAs: ca.pool(), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, NextProtos: []string{"h2"}})
	if err == nil {
		_ = conn.Close()
		t.Fatal("TLS 1.1 was accepted")
	}
}
