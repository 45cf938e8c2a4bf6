package web

import (
	"encoding/json"
	"io"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/scaler"
)

// A failure is the body of every answer that is no success.
type failure struct {
	// Error is for people.
	Error string `json:"error"`
	// Reason is for programs: a word that stays.
	Reason string `json:"reason"`
}

// A refusal is how a gRPC code is said over HTTP.
type refusal struct {
	status int
	reason string
}

// refusals are those of the codes that the scaler answers with. What KEDA gets as any other code is not the caller's
// fault.
var refusals = map[codes.Code]refusal{
	codes.InvalidArgument:    {http.StatusBadRequest, "invalid_argument"},
	codes.FailedPrecondition: {http.StatusBadRequest, "failed_precondition"},
	codes.Unauthenticated:    {http.StatusUnauthorized, "unauthenticated"},
	codes.PermissionDenied:   {http.StatusForbidden, "permission_denied"},
	codes.NotFound:           {http.StatusNotFound, "not_found"},
	codes.Unavailable:        {http.StatusServiceUnavailable, "unavailable"},
	codes.DeadlineExceeded:   {http.StatusServiceUnavailable, "deadline_exceeded"},
	codes.ResourceExhausted:  {http.StatusServiceUnavailable, "resource_exhausted"},
	codes.Canceled:           {http.StatusServiceUnavailable, "canceled"},
}

// refusalOf is how an error of the scaler is said over HTTP.
func refusalOf(s *scaler.Server, err error) (refusal, *status.Status) {
	st := status.Convert(s.Status(err))
	how, ok := refusals[st.Code()]
	if !ok {
		how = refusal{http.StatusInternalServerError, "internal"}
	}
	return how, st
}

// fail answers with an error of the scaler.
func (h *handler) fail(w http.ResponseWriter, err error) {
	how, st := refusalOf(h.scaler, err)
	if how.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="leadsman"`) // RFC 6750, 3
	}
	refuse(w, how.status, how.reason, st.Message())
}

// refuse answers with a failure.
func refuse(w http.ResponseWriter, code int, reason, message string) {
	reply(w, code, failure{Error: message, Reason: reason})
}

// reply answers with JSON. It is never kept: it is true for a second.
func reply(w http.ResponseWriter, code int, body any) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	encode(w, body) // else the client is gone
}

// encode writes a body of this package, each of which can be encoded.
func encode(w io.Writer, body any) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body) //nolint:errchkjson // see above
}
