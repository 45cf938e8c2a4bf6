package query

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// PathScaler is where a server answers triggers over HTTP.
const PathScaler = "/api/scaler"

// AtScaler tells whether a URL is one at which triggers are answered.
func AtScaler(u *url.URL) bool {
	_, ok := cutScaler(u)
	return ok
}

// FromURL makes metadata of a URL at which triggers are answered: of /api/scaler, /api/scaler/SOURCE or
// /api/scaler/SOURCE/QUEUE, where a queue's name may hold slashes, and of its query, each parameter of which is a key.
// What the keys mean is for [Parse] to say. Scheme and host do not matter, nor what a proxy takes away before the path; the
// parameter api_key is a token, as the key token is, and is left out.
//
// An error says what is wrong and, behind a semicolon, what would be right. It shows no secret.
func FromURL(u *url.URL) (map[string]string, error) {
	rest, ok := cutScaler(u)
	if !ok {
		return nil, fmt.Errorf("there is nothing of leadsman's at %s; write /api/scaler/SOURCE/QUEUE, or "+
			"/api/scaler?source=SOURCE&queue=QUEUE", quote(u.Path))
	}
	metadata, err := FromParameters(u.RawQuery)
	if err != nil {
		return nil, err
	}
	return metadata, addPath(metadata, rest)
}

// FromParameters is [FromURL] for what is behind the ? of a URL alone.
func FromParameters(rawQuery string) (map[string]string, error) {
	parameters, err := url.ParseQuery(rawQuery)
	if err != nil {
		return nil, errors.New("the query string cannot be read" + aboutEscape(err))
	}
	delete(parameters, "api_key")
	metadata := make(map[string]string, len(parameters)+2)
	for key, values := range parameters {
		if len(values) > 1 {
			return nil, fmt.Errorf("%s is given %d times; give it once, several queues as a comma-separated list",
				quoteKey(key), len(values))
		}
		metadata[key] = values[0]
	}
	return metadata, nil
}

// DropTokens takes the tokens away that a URL may have among its parameters, for who shows it, and tells whether there were any.
func DropTokens(parameters url.Values) bool {
	had := parameters.Has("token") || parameters.Has("api_key")
	parameters.Del("token")
	parameters.Del("api_key")
	return had
}

// addPath adds what the path says: /SOURCE/QUEUE, escaped.
func addPath(metadata map[string]string, rest string) error {
	if rest == "" {
		return nil
	}
	source, queue, hasQueue := strings.Cut(rest[1:], "/")
	for _, part := range []struct {
		key, escaped string
		given        bool
	}{{"source", source, true}, {"queue", queue, hasQueue}} {
		if !part.given {
			continue
		}
		if _, twice := metadata[part.key]; twice {
			return fmt.Errorf("%s is given in the path and in the query; give it once", part.key)
		}
		value, err := url.PathUnescape(part.escaped)
		if err != nil {
			return errors.New("the path cannot be read" + aboutEscape(err))
		}
		metadata[part.key] = value
	}
	return nil
}

// cutScaler returns what is behind /api/scaler, escaped. Something may stand before it that a proxy takes away.
func cutScaler(u *url.URL) (rest string, ok bool) {
	_, rest, ok = strings.Cut(u.EscapedPath(), PathScaler)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// aboutEscape says what is wrong with an escape, of which the error shows three bytes. The text of others may hold what the
// caller wrote.
func aboutEscape(err error) string {
	if escape, ok := errors.AsType[url.EscapeError](err); ok {
		return ": " + escape.Error()
	}
	return "; separate parameters by & and escape others"
}
