package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// secure tells whether TLS is spoken: when it is asked for, or any flag has no sense without it.
func (o *clientOptions) secure() bool {
	return o.tls || o.caFile != "" || o.certFile != "" || o.keyFile != "" || o.serverName != ""
}

// exposed tells whether the token travels in clear over a network.
func (o *clientOptions) exposed() bool {
	return !o.token.IsZero() && !o.secure() && !loopback(o.server)
}

// transport makes the credentials of the connection.
func (o *clientOptions) transport() (credentials.TransportCredentials, error) {
	if !o.secure() {
		return insecure.NewCredentials(), nil
	}
	config, err := o.tlsConfig()
	if err != nil {
		return nil, err
	}
	return newRotatingTLS(config, o.tlsConfig), nil
}

// tlsConfig reads the files.
func (o *clientOptions) tlsConfig() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: o.serverName}
	if o.caFile != "" {
		pem, err := os.ReadFile(o.caFile)
		if err != nil {
			return nil, fmt.Errorf("--ca-file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--ca-file: %s holds no certificate in PEM", o.caFile)
		}
	}
	switch {
	case o.certFile == "" && o.keyFile == "":
	case o.certFile == "":
		return nil, errors.New("--cert-file: is missing; a client certificate takes --cert-file and --key-file")
	case o.keyFile == "":
		return nil, errors.New("--key-file: is missing; a client certificate takes --cert-file and --key-file")
	default:
		pair, err := tls.LoadX509KeyPair(o.certFile, o.keyFile)
		if err != nil {
			return nil, fmt.Errorf("--cert-file, --key-file: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// A rotatingTLS speaks TLS by the files as they are when a connection is made: a watch lasts for longer than certificates do.
type rotatingTLS struct {
	credentials.TransportCredentials // by the first files

	load func() (*tls.Config, error)
	// good are the last files that could be used. Others may be in the midst of a rotation, where a certificate has not got its
	// key yet.
	good *atomic.Pointer[tls.Config]
}

func newRotatingTLS(config *tls.Config, load func() (*tls.Config, error)) *rotatingTLS {
	t := &rotatingTLS{TransportCredentials: credentials.NewTLS(config), load: load, good: &atomic.Pointer[tls.Config]{}}
	t.good.Store(config)
	return t
}

// ClientHandshake implements credentials.TransportCredentials.
func (t *rotatingTLS) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if config, err := t.load(); err == nil {
		t.good.Store(config)
	}
	return credentials.NewTLS(t.good.Load()).ClientHandshake(ctx, authority, conn)
}

// Clone implements credentials.TransportCredentials.
func (t *rotatingTLS) Clone() credentials.TransportCredentials {
	return &rotatingTLS{TransportCredentials: t.TransportCredentials.Clone(), load: t.load, good: t.good}
}
