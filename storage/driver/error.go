package driver

import "fmt"

// Kind says what sort of failure an error is, and so who can mend it.
type Kind int

// The kinds, in the order of how often they pass by themselves.
const (
	Unavailable Kind = iota // the backend cannot be reached, is starting, or refuses more connections
	Timeout                 // the backend did not answer in time
	Denied                  // credentials or permissions; row-level security
	Schema                  // a table, column or version that the preset does not know
	Contract                // an answer that breaks the row contract: NaN, text for a number, a column missing
)

var kindNames = [...]string{"unavailable", "timeout", "denied", "schema", "contract"}

// String returns the kind's name in lower case.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind(%d)", int(k))
	}
	return kindNames[k]
}

// An Error is a failed read. Message is for people: it names what was tried and the remedy, and holds no
// secret. Err is the cause for errors.Is and logs; it is never sent to a client.
type Error struct {
	Kind    Kind
	Message string
	Err     error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error without a cause.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}
