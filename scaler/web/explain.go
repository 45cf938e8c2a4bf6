package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/internal/query"
)

// A MetricsAPI is how KEDA's trigger of type metrics-api asks: by GET, for one number of the answer.
type MetricsAPI struct {
	URL      string // where; it is this server's whatever the host, and a token in it is not looked at
	Location string // valueLocation: where in the answer the number is
	// Target is how much of it one replica is to handle, and Activation what it must exceed for KEDA to be active.
	Target, Activation float64
}

// Explain says what such a trigger would be told, and why: the very answer of /api/scaler, and what KEDA makes of it. It
// fails where the URL is one that is always refused, with what it is answered; where it would be answered at another
// time, or for another caller, the Explanation's Err says so.
func Explain(
	ctx context.Context, s *scaler.Server, id scaler.Identity, t MetricsAPI, at scaler.Situation,
) (scaler.Explanation, error) {
	u, err := url.Parse(strings.TrimSpace(t.URL))
	if err != nil { // its text would show all of it
		return scaler.Explanation{}, invalid("url: it is no URL; write http://HOST:8080" + query.PathScaler + "/SOURCE/QUEUE")
	}
	metadata, err := query.FromURL(u)
	if err != nil {
		return scaler.Explanation{}, refused(s, invalid("%v", err))
	}
	e, err := s.ExplainAnswer(ctx, id, metadata, at)
	if err != nil {
		return scaler.Explanation{}, refused(s, orNotFound(s, id, metadata["source"], err))
	}
	if err := take(s, &e, &t, pathOf(u)); err != nil {
		e.Err = err
		e.Becausef("that is an error to KEDA, which keeps the replicas, or uses the object's fallback")
		return e, nil //nolint:nilerr // the Explanation says so
	}
	if e.Active {
		e.Becausef("active: %g is greater than activationTargetValue %g", e.Value, t.Activation)
	} else {
		e.Becausef("not active: %g is not greater than activationTargetValue %g", e.Value, t.Activation)
	}
	e.Imply(t.Target, at)
	return e, nil
}

// refused says what a request is answered that is refused for what it asks. An error about who asks is of the one to whom
// it is explained, and says nothing of KEDA's token.
func refused(s *scaler.Server, err error) error {
	how, st := refusalOf(s, err)
	if how.status != http.StatusBadRequest && how.status != http.StatusNotFound {
		return err
	}
	return status.Errorf(codes.InvalidArgument, "url: it is answered %d %s: %s", how.status, how.reason, st.Message())
}

// take takes the value out of the answer, as KEDA does (getValueFromJSONResponse and GetMetricsAndActivity of
// pkg/scalers/metrics_api_scaler.go in KEDA 2.21), and says what is answered.
func take(s *scaler.Server, e *scaler.Explanation, t *MetricsAPI, path string) error {
	for _, err := range []error{e.Err, e.ValueErr} {
		if err != nil {
			how, st := refusalOf(s, err)
			e.Becausef("GET %s is answered %d %s: %s", path, how.status, how.reason, st.Message())
			return err
		}
	}
	var body bytes.Buffer
	encode(&body, newBody(&e.Answer))
	value, err := valueAt(body.Bytes(), t.Location)
	if err != nil {
		e.Becausef("GET %s is answered 200, and %v", path, err)
		return err
	}
	e.Becausef("GET %s is answered 200, with %g at %s", path, value, t.Location)
	active := value > t.Activation
	if active != e.Active {
		e.Becausef("isActive is %t in it, which KEDA does not read", e.Active)
	}
	e.Value, e.Active = value, active
	return nil
}

// valueAt returns the number at a path of keys, parted by dots. Of GJSON's language, KEDA would take more: what that comes
// to, and what it costs, is not for a server to try out.
func valueAt(body []byte, location string) (float64, error) {
	const beyond = "|@#*?!{}[]()"
	switch {
	case location == "":
		return 0, errors.New("valueLocation is missing; write metricValue")
	case strings.ContainsAny(location, beyond):
		return 0, fmt.Errorf("valueLocation has one of %s, and what GJSON makes of that is not told here; write metricValue", beyond)
	}
	found := gjson.GetBytes(body, location)
	if found.Type != gjson.Number {
		what := "no number"
		if !found.Exists() {
			what = "nothing"
		}
		return 0, fmt.Errorf("there is %s at valueLocation %s; write metricValue", what, strconv.Quote(clip(location)))
	}
	return found.Num, nil
}

// pathOf is the path and the query of a URL, without tokens.
func pathOf(u *url.URL) string {
	parameters := u.Query()
	query.DropTokens(parameters)
	shown := url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: parameters.Encode()}
	return clip(shown.RequestURI())
}
