package query

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An Error is one fault of a trigger's metadata. It shows neither a token nor a value that looks like a connection
// string, and stays short however long the metadata is.
type Error struct {
	// Key is the key as the metadata spells it, or as it should be spelled when it is missing. A tenant may have
	// written anything there: show Error's text, which cuts it, rather than the Key.
	Key string
	// Message says what is wrong with it and what would be right.
	Message string
}

// Error returns the text, beginning with the key.
func (e *Error) Error() string { return "metadata key " + quoteKey(e.Key) + ": " + e.Message }

// faults are several Errors reported together.
type faults struct {
	errs []*Error
	more int // faults beyond errs, not described
}

// Error returns the texts on one line.
func (f *faults) Error() string {
	texts := make([]string, 0, len(f.errs)+1)
	for _, err := range f.errs {
		texts = append(texts, err.Error())
	}
	if f.more > 0 {
		texts = append(texts, "and "+strconv.Itoa(f.more)+" more unknown keys")
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns each Error.
func (f *faults) Unwrap() []error {
	errs := make([]error, 0, len(f.errs))
	for _, err := range f.errs {
		errs = append(errs, err)
	}
	return errs
}

const (
	shownStrays  = 8  // unknown keys described in one error; a gRPC status must stay small
	shownSources = 10 // sources listed in one error
	shownBytes   = 48 // of a value
)

// fault records that the value of k is wrong, and adds what would be right.
func (p *parser) fault(k key, what string) { p.reject(k, what+"; give "+keys[k].want) }

// reject records what is wrong with k and how to mend it. A key has one fault at most.
func (p *parser) reject(k key, message string) {
	p.faults[k] = &Error{Key: cmp.Or(p.given[k].spelled, keys[k].name), Message: message}
}

// err returns what was found, or nil.
func (p *parser) err() error {
	var errs []*Error
	for _, fault := range p.faults {
		if fault != nil {
			errs = append(errs, fault)
		}
	}
	slices.Sort(p.strays) // they were found in the order of a map
	described := p.strays[:min(len(p.strays), shownStrays)]
	for _, spelled := range described {
		errs = append(errs, &Error{Key: spelled, Message: aboutStray(spelled)})
	}
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	default:
		return &faults{errs: errs, more: len(p.strays) - len(described)}
	}
}

// quote shows a value of the metadata, cut short, or says why it does not.
func quote(value string) string {
	if holds(value, "://", "ldm_", "password", "passwd", "pwd=", "@") {
		return "the value (not shown, it may be a secret)"
	}
	return strconv.Quote(clip(value, shownBytes))
}

// quoteKey is quote for keys, of which some are called password.
func quoteKey(spelled string) string {
	if holds(spelled, "://", "ldm_", "password=", "@") {
		return "(not shown, it may be a secret)"
	}
	return strconv.Quote(clip(spelled, shownBytes))
}

// holds tells whether the start of text, more of it than is ever shown, has one of the signs in it.
func holds(text string, signs ...string) bool {
	start := strings.ToLower(clip(text, 4*shownBytes))
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(start, sign) })
}

// clip cuts text to a number of bytes, at a character, and marks that it did.
func clip(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for size > 0 && !utf8.RuneStart(text[size]) {
		size--
	}
	return text[:size] + "…"
}
