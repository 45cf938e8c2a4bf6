package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// tlsFiles is what a URL's query says of TLS.
type tlsFiles struct{ ca, cert, key, serverName string }

// config reads the files.
func (f tlsFiles) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: f.serverName}
	if (f.cert == "") != (f.key == "") {
		return nil, errors.New("the URL's query has one of certFile and keyFile; a client certificate takes both")
	}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("the URL's query: caFile: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the URL's query: caFile: %s holds no certificate in PEM form", f.ca)
		}
	}
	if f.cert != "" {
		pair, err := tls.LoadX509KeyPair(f.cert, f.key)
		if err != nil {
			return nil, fmt.Errorf("the client certificate of the URL's query: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// encrypt begins TLS. A server without it waits for the rest of what it takes for a command, and says nothing.
func encrypt(ctx context.Context, conn net.Conn, address string, config *tls.Config) (net.Conn, error) {
	if config.ServerName == "" {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		config = config.Clone()
		config.ServerName = host
	}
	secure := tls.Client(conn, config)
	ctx, cancel := context.WithTimeout(ctx, handshakeWait)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = errNoTLS
		}
		return nil, errors.Join(err, conn.Close())
	}
	return secure, nil
}

// handshakeWait is how long a server may take to begin TLS. It is less than a read's time, so that the read can tell.
const handshakeWait = 1500 * time.Millisecond
