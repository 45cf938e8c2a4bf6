package auth

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"
)

// What the log says when the two ends of a connection do not mean the same. grpc itself closes such a connection
// in silence, and KEDA's side of it reads "error reading server preface: EOF".
const (
	hintPlaintext = "a client speaks plaintext to this TLS port; in KEDA set enableTLS: \"true\", " +
		"or caCert on the trigger's authentication, with grpcurl leave out -plaintext"
	hintTLS = "a client speaks TLS to this plaintext port; configure grpc.tls, " +
		"or in KEDA remove enableTLS, caCert and tlsClientCert, with grpcurl add -plaintext"
	hintRefused = "a client refused the TLS handshake; it may not trust this server's certificate: in KEDA set caCert to its CA " +
		"and scalerAddress to a name that the certificate carries"
)

// The first byte of a TLS connection: a handshake record (RFC 8446, 5.1).
const tlsHandshake = 0x16

// WithHints returns the credentials of a server, TLS or insecure, that behave as before and log a readable warning,
// at most one of each kind a minute, when a client does not speak what the port speaks.
func WithHints(inner credentials.TransportCredentials, logger *slog.Logger) credentials.TransportCredentials {
	return &hinting{TransportCredentials: inner, hints: &hints{
		logger:    logger,
		plaintext: limiter{every: time.Minute},
		tls:       limiter{every: time.Minute},
		refused:   limiter{every: time.Minute},
	}}
}

type hinting struct {
	credentials.TransportCredentials

	hints *hints // shared by clones
}

// hints are the warnings and when each was last given.
type hints struct {
	logger                  *slog.Logger
	plaintext, tls, refused limiter
}

// ServerHandshake does the inner handshake.
func (h *hinting) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if h.Info().SecurityProtocol == "insecure" {
		// There is no handshake: the first bytes show what the client speaks.
		return h.TransportCredentials.ServerHandshake(&watched{Conn: raw, hints: h.hints})
	}
	conn, info, err := h.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		h.hints.handshake(raw.RemoteAddr(), err)
	}
	return conn, info, err
}

// Clone returns credentials that share the limits of these.
func (h *hinting) Clone() credentials.TransportCredentials {
	return &hinting{TransportCredentials: h.TransportCredentials.Clone(), hints: h.hints}
}

// handshake explains a failed one. Probes that connect and leave again are no news.
func (h *hints) handshake(peer net.Addr, err error) {
	var record tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &record) && isPlaintext(record.RecordHeader):
		h.warn(&h.plaintext, hintPlaintext, peer)
	case errors.As(err, &op) && op.Op == "remote error": // a TLS alert from the other side
		h.warn(&h.refused, hintRefused, peer, slog.String("alert", op.Err.Error()))
	}
}

func (h *hints) warn(limit *limiter, hint string, peer net.Addr, attrs ...slog.Attr) {
	missed, ok := limit.allow()
	if !ok {
		return
	}
	attrs = append(attrs, slog.String("hint", hint))
	if peer != nil {
		attrs = append(attrs, slog.String("peer", peer.String()))
	}
	if missed > 0 {
		attrs = append(attrs, slog.Int("connections_not_logged", missed))
	}
	h.logger.LogAttrs(context.Background(), slog.LevelWarn, "connection failed", attrs...)
}

// isPlaintext tells whether a record header is in truth the beginning of an HTTP request line: "PRI *" of HTTP/2,
// "GET /", "POST ".
func isPlaintext(header [5]byte) bool {
	return header[0] >= 'A' && header[0] <= 'Z' && header[1] >= 'A' && header[1] <= 'Z'
}

// watched is a plaintext connection whose first byte is looked at.
type watched struct {
	net.Conn

	hints *hints
	seen  atomic.Bool
}

// Read reads from the connection.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 && !w.seen.Load() {
		if !w.seen.Swap(true) && p[0] == tlsHandshake {
			w.hints.warn(&w.hints.tls, hintTLS, w.RemoteAddr())
		}
	}
	return n, err
}

// SyscallConn gives grpc the socket, as the bare connection would.
func (w *watched) SyscallConn() (syscall.RawConn, error) {
	if conn, ok := w.Conn.(syscall.Conn); ok {
		return conn.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
