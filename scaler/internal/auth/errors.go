package auth

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ErrUnauthenticated is the answer to a request without a valid credential. It says no more than that: whether
// the token is unknown, expired or malformed is for the server's log.
var ErrUnauthenticated error = unauthenticated{}

type unauthenticated struct{}

func (unauthenticated) Error() string { return "the request carries no valid credential" }

// GRPCStatus makes grpc answer with code Unauthenticated.
func (e unauthenticated) GRPCStatus() *status.Status {
	return status.New(codes.Unauthenticated, e.Error())
}

// A DeniedError is the answer to a caller that is known and lacks something.
type DeniedError struct {
	Who  string // the identity, such as: token "keda-mail"
	What string // "scope", "source", "queue" or "namespace"
	Name string // the one that was asked for
}

// Error names what is missing.
func (e *DeniedError) Error() string {
	if e.What == "namespace" && e.Name == "" {
		return e.Who + " is limited to namespaces, and the request names none; use a credential without that limit"
	}
	return fmt.Sprintf("%s is not granted %s %q", e.Who, e.What, e.Name)
}

// GRPCStatus makes grpc answer with code PermissionDenied.
func (e *DeniedError) GRPCStatus() *status.Status {
	return status.New(codes.PermissionDenied, e.Error())
}

// shorten bounds what a caller's own text adds to an error.
func shorten(text string) string {
	const most = 64
	if len(text) <= most {
		return text
	}
	return text[:most] + "…"
}
