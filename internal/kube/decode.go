package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// A TypeError is a value whose type is not that of its key.
type TypeError struct {
	Key  string // its path, without the numbers of items; "" for the whole
	Is   string // what it is, with its article: "a string"
	Want string // what it must be: "an integer without quotes"
}

// Error returns the text, beginning with the key.
func (w *TypeError) Error() string { return w.Key + " must not be " + w.Is }

// Decode decodes JSON; numbers in an any are json.Number. A value of the wrong type is a *TypeError, and the others are decoded
// all the same.
func Decode(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err := decoder.Decode(into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &TypeError{Key: wrong.Field, Is: article(kindOf(wrong.Value)), Want: wanted(wrong.Type)}
	}
	return err
}

// kindOf takes the value out of what encoding/json calls "number 5.5".
func kindOf(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	return kind
}

// wanted says in YAML's words what a value of a type is.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int32, reflect.Int64:
		return "an integer without quotes"
	case reflect.Bool:
		return "true or false without quotes"
	case reflect.String:
		return "text in quotes"
	case reflect.Slice:
		return "a list"
	default: // to YAML
		return "a map of keys"
	}
}

func article(what string) string {
	if what != "" && strings.ContainsAny(what[:1], "aeiou") {
		return "an " + what
	}
	return "a " + what
}
