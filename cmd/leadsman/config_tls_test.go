package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/scaler"
)

// writePair writes a self-signed certificate and its key.
func writePair(t *testing.T, dir, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"leadsman"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(t, dir, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
}

const tlsFile = `
grpc: {listen: "0.0.0.0:1", tls: {certFile: tls.crt, keyFile: keys/../tls.key, clientCAFile: tls.crt}}
sources: {mail: {url: "sqlite:x.db"}}
clients:
  - {san: "spiffe://cluster/ns/keda/sa/keda-operator", scopes: [read], sources: [mail]}
  - {id: ops, san: ops@example}
`

// The client CA satisfies the guard, and files are found beside the configuration file.
func TestTLSFilesAreRelativeToTheConfigurationFile(t *testing.T) {
	dir := t.TempDir()
	writePair(t, dir, "tls.crt", "tls.key")
	got, err := Load(inputs(map[string]string{"LEADSMAN_CONFIG": write(t, dir, "leadsman.yaml", tlsFile)}))
	if err != nil {
		t.Fatal(err)
	}
	cert := filepath.Join(dir, "tls.crt")
	want := &scaler.Files{Cert: cert, Key: filepath.Join(dir, "tls.key"), ClientCA: cert}
	if diff := cmp.Diff(want, got.GRPC.TLS); diff != "" {
		t.Error(diff)
	}
	const operator = "spiffe://cluster/ns/keda/sa/keda-operator"
	access := scaler.Access{ClientCA: true, Clients: []scaler.Client{
		{SAN: operator, Grant: scaler.Grant{ID: operator, Scopes: []scaler.Scope{scaler.ScopeRead}, Sources: []string{"mail"}}},
		{SAN: "ops@example", Grant: scaler.Grant{ID: "ops"}},
	}}
	if diff := cmp.Diff(access, got.Access); diff != "" {
		t.Error(diff)
	}
	if len(got.Warnings) > 0 {
		t.Errorf("warnings: %v", got.Warnings)
	}
}

func TestTLSPairThatDoesNotFitIsAFault(t *testing.T) {
	dir := t.TempDir()
	writePair(t, dir, "tls.crt", "other.key")
	writePair(t, dir, "other.crt", "tls.key")
	_, err := Load(inputs(map[string]string{"LEADSMAN_CONFIG": write(t, dir, "leadsman.yaml", tlsFile)}))
	if err == nil || !strings.Contains(err.Error(), "grpc.tls: certificate ") || !strings.Contains(err.Error(), "does not match") {
		t.Errorf("got %v", err)
	}
}
