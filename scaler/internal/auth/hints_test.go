package auth_test

import (
	"crypto/tls"
	"log/slog"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/leadsman/leadsman/scaler/internal/auth"
)

// tlsCreds makes server credentials signed by ca.
func tlsCreds(t *testing.T, ca *authorityCA) credentials.TransportCredentials {
	t.Helper()
	served, err := auth.NewTLS(newFiles(t, ca, nil).Files, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return credentials.NewTLS(served.Config())
}

// Case 69.
func TestPlaintextClientOnTLSPortIsExplained(t *testing.T) {
	ca := newCA(t)
	logger, log := newLogger()
	addr := serve(t, authority(t, auth.Policy{}), auth.WithHints(tlsCreds(t, ca), logger))
	for range 3 {
		if got := isHealthy(t.Context(), dial(t, addr, nil)); got != codes.Unavailable {
			t.Fatalf("plaintext to a TLS port: %v", got)
		}
	}
	eventually(t, "the hint", func() bool { return strings.Contains(log.String(), "enableTLS") })
	if got := strings.Count(log.String(), "\n"); got != 1 {
		t.Errorf("%d lines:\n%s", got, log)
	}
	if got := isHealthy(t.Context(), dial(t, addr, &tls.Config{RootCAs: ca.pool()})); got != codes.OK {
		t.Errorf("TLS to a TLS port: %v", got)
	}
}

// Case 69.
func TestTLSClientOnPlaintextPortIsExplained(t *testing.T) {
	logger, log := newLogger()
	addr := serve(t, authority(t, auth.Policy{}), auth.WithHints(insecure.NewCredentials(), logger))
	for range 3 {
		if got := isHealthy(t.Context(), dial(t, addr, &tls.Config{RootCAs: newCA(t).pool()})); got != codes.Unavailable {
			t.Fatalf("TLS to a plaintext port: %v", got)
		}
	}
	eventually(t, "the hint", func() bool { return strings.Contains(log.String(), "speaks TLS to this plaintext port") })
	if got := strings.Count(log.String(), "\n"); got != 1 {
		t.Errorf("%d lines:\n%s", got, log)
	}
	if got := isHealthy(t.Context(), dial(t, addr, nil)); got != codes.OK {
		t.Errorf("plaintext to a plaintext port: %v", got)
	}
}

func TestClientThatDistrustsTheCertificateIsExplained(t *testing.T) {
	logger, log := newLogger()
	addr := serve(t, authority(t, auth.Policy{}), auth.WithHints(tlsCreds(t, newCA(t)), logger))
	if got := isHealthy(t.Context(), dial(t, addr, &tls.Config{RootCAs: newCA(t).pool()})); got != codes.Unavailable {
		t.Fatalf("a client that trusts another CA: %v", got)
	}
	eventually(t, "the hint", func() bool {
		return strings.Contains(log.String(), "caCert") && strings.Contains(log.String(), "alert=")
	})
}

func TestProbeThatOnlyConnectsIsNoNews(t *testing.T) {
	logger, log := newLogger()
	ca := newCA(t)
	addr := serve(t, authority(t, auth.Policy{}), auth.WithHints(tlsCreds(t, ca), logger))
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if got := isHealthy(t.Context(), dial(t, addr, &tls.Config{RootCAs: ca.pool()})); got != codes.OK {
		t.Fatal(got)
	}
	if log.String() != "" {
		t.Errorf("logged:\n%s", log)
	}
}

func TestHintsLeaveTheCredentialsAsTheyWere(t *testing.T) {
	for name, inner := range map[string]credentials.TransportCredentials{
		"tls": tlsCreds(t, newCA(t)), "insecure": insecure.NewCredentials(),
	} {
		wrapped := auth.WithHints(inner, slog.New(slog.DiscardHandler))
		if wrapped.Info() != inner.Info() || wrapped.Clone().Info() != inner.Info() {
			t.Errorf("%s: %+v became %+v", name, inner.Info(), wrapped.Info())
		}
	}
}
