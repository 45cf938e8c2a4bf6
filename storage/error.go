package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

// An Error is a source that could not be read. Its text is for people and holds no secret.
type Error struct {
	Source  string
	Kind    driver.Kind
	Message string
	cause   error
}

// Error returns the text, beginning with the source's name.
func (e *Error) Error() string { return fmt.Sprintf("source %q: %s", e.Source, e.Message) }

// Unwrap returns the cause, whose text may hold secrets.
func (e *Error) Unwrap() error { return e.cause }

// wrap classifies err, names the source and takes the secrets out.
func (s *Source) wrap(ctx context.Context, err error) *Error {
	out := &Error{Source: s.name, Kind: driver.Unavailable, Message: err.Error(), cause: err}
	var known *driver.Error
	switch {
	case errors.As(err, &known):
		out.Kind, out.Message = known.Kind, known.Message
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(ctx.Err(), context.DeadlineExceeded):
		out.Kind, out.Message = driver.Timeout, "no answer in time"
	}
	out.Message = s.redact(out.Message)
	return out
}

func (s *Source) redact(text string) string {
	if s.secrets == nil {
		return text
	}
	for _, secret := range s.secrets() {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}
