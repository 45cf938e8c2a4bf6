package web_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/leadsman/leadsman/scaler"
)

// A pki is a CA and certificates that it has signed: server for localhost, keda and other for clients.
type pki struct {
	t    *testing.T
	dir  string
	pool *x509.CertPool
	ca   *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

func newPKI(t *testing.T) *pki {
	t.Helper()
	p := &pki{t: t, dir: t.TempDir(), pool: x509.NewCertPool()}
	p.ca, p.key = p.sign("ca", &x509.Certificate{
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, Subject: pkix.Name{CommonName: "ca"},
	})
	p.pool.AddCert(p.ca)
	p.sign("server", &x509.Certificate{DNSNames: []string{"localhost"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	for _, name := range []string{"keda", "other"} {
		p.sign(name, &x509.Certificate{DNSNames: []string{name + ".example"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	}
	return p
}

// sign makes a certificate and writes it, and its key, into the pki's folder. The first one signs itself.
func (p *pki) sign(name string, cert *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	p.n++
	cert.SerialNumber = big.NewInt(p.n)
	cert.NotBefore, cert.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := p.ca, p.key
	if parent == nil {
		parent, signer = cert, key
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, signer)
	if err != nil {
		p.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(name+".crt", &pem.Block{Type: "CERTIFICATE", Bytes: der})
	p.write(name+".key", &pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		p.t.Fatal(err)
	}
	return signed, key
}

func (p *pki) write(name string, block *pem.Block) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// files are those of a server of this name.
func (p *pki) files(name string) scaler.Files {
	return scaler.Files{Cert: filepath.Join(p.dir, name+".crt"), Key: filepath.Join(p.dir, name+".key"), ClientCA: filepath.Join(p.dir, "ca.crt")}
}

// pair is a certificate with its key.
func (p *pki) pair(name string) tls.Certificate {
	p.t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(p.dir, name+".crt"), filepath.Join(p.dir, name+".key"))
	if err != nil {
		p.t.Fatal(err)
	}
	return pair
}

// replace puts this pki's files in the place of another's.
func (p *pki) replace(t *testing.T, other *pki) {
	t.Helper()
	for _, name := range []string{"server.crt", "server.key", "ca.crt"} {
		if err := os.Rename(filepath.Join(p.dir, name), filepath.Join(other.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}
