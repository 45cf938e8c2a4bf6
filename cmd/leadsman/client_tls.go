package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

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
	return credentials.NewTLS(config), nil
}
