package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/internal/show"
	"github.com/leadsman/leadsman/scaler"
)

// A callError is a call that failed, and what to do about it.
type callError struct {
	code codes.Code
	lost bool // there was no server to answer
	text string
}

// Error returns the text, on one line.
func (e *callError) Error() string { return show.Text(e.text) }

// codeOf returns a call's code; OK for nil and for what is no call's error.
func codeOf(err error) codes.Code {
	if call, ok := errors.AsType[*callError](err); ok {
		return call.code
	}
	return codes.OK
}

// advise turns the error of a call into one that says what to do.
func (c *client) advise(err error) error {
	st := status.Convert(err)
	call := &callError{code: st.Code(), text: st.Message()}
	switch st.Code() {
	case codes.Unavailable:
		// While a connection stands, it is the server that says so of a source.
		if call.lost = c.conn.GetState() != connectivity.Ready; call.lost {
			call.text = c.unreachable(st.Message())
		}
	case codes.DeadlineExceeded:
		call.text = fmt.Sprintf("no answer from %s within %s: is it the gRPC address of a leadsman server, and can this machine reach it? "+
			"--timeout gives it longer", c.server, c.timeout)
	case codes.Unauthenticated:
		call.text = c.unauthenticated()
	case codes.PermissionDenied:
		call.text = st.Message() + "; " + widen(st.Message())
	case codes.Unimplemented:
		call.text = fmt.Sprintf("%s serves gRPC and does not know this call (%s): is it a leadsman server, and as new as this command, %s?",
			c.server, st.Message(), versionName())
	case codes.InvalidArgument, codes.NotFound:
		// It is worded for the metadata of a trigger.
		call.text = strings.TrimPrefix(st.Message(), "metadata key ")
	case codes.Canceled:
		if errors.Is(err, context.Canceled) || st.Message() == context.Canceled.Error() {
			call.text = "interrupted"
		}
	default:
	}
	return &failedError{call}
}

// unreachable says why there is no connection; how it failed is in grpc's text.
func (c *client) unreachable(text string) string {
	holds := func(sign string) bool { return strings.Contains(text, sign) }
	_, cause, found := strings.Cut(text, "transport: ")
	if !found {
		cause = text
	}
	cause = strings.TrimPrefix(strings.TrimPrefix(strings.Trim(cause, `"`), `connection error: desc = "`), "Error while dialing: ")
	switch {
	case holds("first record does not look like a TLS handshake"):
		return c.server + " speaks no TLS: leave out --tls, --ca-file, --cert-file and --server-name"
	case holds("certificate signed by unknown authority"), holds("certificate is not trusted"):
		return fmt.Sprintf("the certificate of %s is of a CA that is not trusted here: name the CA by --ca-file (%s)", c.server, cause)
	case holds("x509: certificate is valid for"), holds("x509: certificate is not valid for any names"),
		holds("doesn't contain any IP SANs"):
		return fmt.Sprintf("the certificate of %s is for another name: give that by --server-name (%s)", c.server, cause)
	case holds("remote error: tls"), holds("error reading server preface"), holds("connection reset by peer"), holds("broken pipe"):
		return c.closed(cause)
	default:
		return fmt.Sprintf("no leadsman server answers at %s: %s. Start one (leadsman serve), forward its port "+
			"(kubectl port-forward service/leadsman 50051), or name another by --server or LEADSMAN_SERVER", c.server, cause)
	}
}

// closed says why a server closes a connection at once. When it refuses a certificate, its word on that may be lost.
func (c *client) closed(cause string) string {
	switch {
	case !c.secure():
		return fmt.Sprintf("%s closes the connection: is it the gRPC address, and does it speak TLS? "+
			"Then add --tls, or --ca-file with its CA (%s)", c.server, cause)
	case c.certFile != "":
		return fmt.Sprintf("%s refuses the client certificate of %s, it seems: is it of the server's clientCAFile, and current? (%s)",
			c.server, c.certFile, cause)
	default:
		return fmt.Sprintf("%s closes the connection: is it the gRPC address, and does it ask for a client certificate? "+
			"Then add --cert-file and --key-file (%s)", c.server, cause)
	}
}

func (c *client) unauthenticated() string {
	const give = "set " + envToken + " or --token-file to a token of scope inspect (leadsman token new --id ops --scope inspect)"
	switch {
	case !c.token.IsZero():
	case c.certFile != "":
		return fmt.Sprintf("%s does not know the client certificate of %s: add its name under clients in the server's configuration, or %s",
			c.server, c.certFile, give)
	case c.secure():
		return c.server + " asks for a credential: " + give + ", or give a client certificate by --cert-file and --key-file"
	default:
		return c.server + " asks for a token: " + give
	}
	where := envToken
	if file := c.token.File(); file != "" {
		where = file
	}
	token, err := c.bearer.last()
	if err != nil {
		return fmt.Sprintf("the token cannot be read: %v", err)
	}
	which := "the token"
	if id, err := scaler.ParseToken(token); err == nil {
		which = fmt.Sprintf("the token %q", id)
	}
	return fmt.Sprintf("%s does not accept %s of %s: it is unknown there, or has expired; the server's log says which",
		c.server, which, where)
}

// widen says what a caller does who is known and lacks something.
func widen(denial string) string {
	switch {
	case strings.Contains(denial, "is not granted scope"):
		return "use a token of scope inspect (leadsman token new --id ops --scope inspect)"
	case strings.Contains(denial, "namespace"):
		return "name one that is granted by --namespace, or widen the token's grant in the server's configuration"
	default:
		return "ask for one that is granted, or widen the token's grant in the server's configuration"
	}
}
