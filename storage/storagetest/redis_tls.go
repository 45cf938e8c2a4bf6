//go:build unix

package storagetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// A redisTLS is the certificates of a server and its replicas, which an authority of their own has made.
type redisTLS struct {
	dir    string // holds the files; set by write
	mutual bool   // clients have to show a certificate, too
}

// The certificates' files.
const (
	caFile         = "ca.pem"
	serverCertFile = "server.pem"
	serverKeyFile  = "server-key.pem"
	clientCertFile = "client.pem"
	clientKeyFile  = "client-key.pem"
)

// WithTLS makes the server speak TLS alone, with a certificate for 127.0.0.1 and localhost; CAFile is what verifies it.
func WithTLS() RedisOption {
	return func(s *RedisServer) { s.tls = &redisTLS{} }
}

// WithMutualTLS is WithTLS, and clients have to show a certificate, such as the one of ClientCertificate.
func WithMutualTLS() RedisOption {
	return func(s *RedisServer) { s.tls = &redisTLS{mutual: true} }
}

// CAFile is the PEM file with the certificate of the authority that signed the server's; for a server with TLS.
func (s *RedisServer) CAFile() string { return filepath.Join(s.tls.dir, caFile) }

// ClientCertificate is the PEM files of a client's certificate, which a server with TLS accepts, and of its key.
func (s *RedisServer) ClientCertificate() (cert, key string) {
	return filepath.Join(s.tls.dir, clientCertFile), filepath.Join(s.tls.dir, clientKeyFile)
}

// directives is what redis.conf says of it.
func (t *redisTLS) directives() []string {
	clients := "no"
	if t.mutual {
		clients = "yes"
	}
	return []string{
		directive("tls-cert-file", filepath.Join(t.dir, serverCertFile)),
		directive("tls-key-file", filepath.Join(t.dir, serverKeyFile)),
		directive("tls-ca-cert-file", filepath.Join(t.dir, caFile)),
		directive("tls-auth-clients", clients),
		directive("tls-replication", "yes"), directive("tls-cluster", "yes"),
	}
}

// write makes the certificates, as files in dir.
func (t *redisTLS) write(dir string) error {
	t.dir = dir
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(dir, caFile), "CERTIFICATE", ca.cert.Raw); err != nil {
		return err
	}
	// A server is the client of its primary, and of the other nodes of its cluster.
	if err := ca.issue(dir, serverCertFile, serverKeyFile, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth); err != nil {
		return err
	}
	return ca.issue(dir, clientCertFile, clientKeyFile, x509.ExtKeyUsageClientAuth)
}

// An authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority() (*authority, error) {
	template := template("storagetest's authority")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	return &authority{cert, key}, err
}

// issue makes a certificate and its key, as files in dir.
func (a *authority) issue(dir, certFile, keyFile string, usages ...x509.ExtKeyUsage) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := template("storagetest")
	template.ExtKeyUsage = usages
	template.IPAddresses, template.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"localhost"}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(dir, certFile), "CERTIFICATE", der); err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(filepath.Join(dir, keyFile), "PRIVATE KEY", private)
}

// template is what all certificates have in common; they are good for a day, from an hour ago.
func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
