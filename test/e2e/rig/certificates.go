package rig

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"testing"
	"time"
)

// An Authority signs certificates.
type Authority struct {
	tb   testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	PEM  string // its own certificate
}

// A Pair is a certificate and its key, in PEM.
type Pair struct{ Cert, Key string }

// NewAuthority makes an authority with a certificate of its own.
func NewAuthority(tb testing.TB, name string) *Authority {
	tb.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	ca := &Authority{tb: tb, key: newKey(tb)}
	ca.cert, ca.PEM = certify(tb, template, template, ca.key, ca.key)
	return ca
}

// Server makes a certificate for a server on 127.0.0.1 that has these names, too.
func (ca *Authority) Server(names ...string) Pair {
	ca.tb.Helper()
	return ca.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "leadsman"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: names,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

// Client makes a certificate for a client with a URI as its name.
func (ca *Authority) Client(uri string) Pair {
	ca.tb.Helper()
	name, err := url.Parse(uri)
	if err != nil {
		ca.tb.Fatal(err)
	}
	return ca.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "keda"}, URIs: []*url.URL{name},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (ca *Authority) sign(template *x509.Certificate) Pair {
	ca.tb.Helper()
	key := newKey(ca.tb)
	_, cert := certify(ca.tb, template, ca.cert, key, ca.key)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		ca.tb.Fatal(err)
	}
	return Pair{Cert: cert, Key: string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}
}

func certify(tb testing.TB, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) (*x509.Certificate, string) {
	tb.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		tb.Fatal(err)
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}
