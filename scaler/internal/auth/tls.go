package auth

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
)

// Files are the PEM files of a TLS server.
type Files struct {
	Cert string // the server's certificate, followed by its intermediates
	Key  string
	// ClientCA holds the certificates that sign clients'; "" means that clients are not asked for one.
	ClientCA string
}

// TLS is a server's certificate and client CA, as last read from disk. Its methods may be called from several
// goroutines.
type TLS struct {
	files   Files
	logger  *slog.Logger
	current atomic.Pointer[tls.Config]

	mu     sync.Mutex
	loaded contents // what current was made of
	broken contents // what was last found unusable, to complain about it once
}

// contents identifies what the files held.
type contents [sha256.Size]byte

// NewTLS reads the files. The error names the file at fault.
func NewTLS(files Files, logger *slog.Logger) (*TLS, error) {
	t := &TLS{files: files, logger: logger}
	config, seen, err := files.load()
	if err != nil {
		return nil, err
	}
	t.current.Store(config)
	t.loaded = seen
	return t, nil
}

// Config returns a configuration for a server that takes the certificate and client CA of the moment for each
// handshake. Connections that are open stay as they are.
func (t *TLS) Config() *tls.Config {
	config := t.current.Load().Clone()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return t.current.Load(), nil }
	return config
}

// HTTPConfig is Config for a server of HTTP/2 and HTTP/1.1.
func (t *TLS) HTTPConfig() *tls.Config {
	now := func() *tls.Config {
		config := t.current.Load().Clone()
		config.NextProtos = []string{"h2", "http/1.1"}
		return config
	}
	config := now()
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return now(), nil }
	return config
}

// Reload reads the files again and tells whether new ones are in force. While they cannot be used, as in the midst
// of a rotation when certificate and key do not fit, the old ones stay in force and the error says why; it is
// logged once for each content, so Reload may be called every few seconds.
func (t *TLS) Reload() (changed bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	config, seen, err := t.files.load()
	switch {
	case err != nil:
		if seen != t.broken {
			t.broken = seen
			t.logger.Warn("new certificates cannot be used, the old ones stay", "error", err)
		}
		return false, err
	case seen == t.loaded:
		t.broken = contents{}
		return false, nil
	}
	t.current.Store(config)
	t.loaded, t.broken = seen, contents{}
	t.logger.Info("certificates reloaded", "not_after", config.Certificates[0].Leaf.NotAfter)
	return true, nil
}

// load reads the files and makes the configuration of a handshake.
func (f Files) load() (*tls.Config, contents, error) {
	var raw [3][]byte
	for i, name := range []string{f.Cert, f.Key, f.ClientCA} {
		if name == "" && i == 2 {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, digest([]byte(err.Error())), err
		}
		raw[i] = data
	}
	seen := digest(raw[:]...)
	pair, err := tls.X509KeyPair(raw[0], raw[1])
	if err != nil {
		return nil, seen, fmt.Errorf("certificate %s with key %s: %w", f.Cert, f.Key, err)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2"},
		Certificates: []tls.Certificate{pair},
		// gRPC's connections live long, so there is little to win by resuming, and no session outlives
		// the client CA by which it was verified.
		SessionTicketsDisabled: true,
	}
	if f.ClientCA == "" {
		return config, seen, nil
	}
	config.ClientCAs, err = pool(raw[2])
	if err != nil {
		return nil, seen, fmt.Errorf("client CA %s: %w", f.ClientCA, err)
	}
	// Health is open to clients without a certificate and tokens work beside them: the interceptors, not the
	// handshake, refuse who is nobody.
	config.ClientAuth = tls.VerifyClientCertIfGiven
	return config, seen, nil
}

// pool reads every certificate of a PEM file; one that is broken is an error, not one CA fewer.
func pool(data []byte) (*x509.CertPool, error) {
	out, found := x509.NewCertPool(), 0
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		out.AddCert(cert)
		found++
	}
	if found == 0 {
		return nil, errors.New("no PEM certificate in it")
	}
	return out, nil
}

// digest identifies the parts, each with its length so that none can pass for its neighbour.
func digest(parts ...[]byte) contents {
	hash := sha256.New()
	for _, part := range parts {
		_ = binary.Write(hash, binary.BigEndian, uint64(len(part))) // a hash never fails
		hash.Write(part)
	}
	return contents(hash.Sum(nil))
}
