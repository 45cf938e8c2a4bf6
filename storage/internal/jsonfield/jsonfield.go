// Package jsonfield reads a few fields of a job that is a JSON object, which anybody may have written and which may be
// megabytes long: it reads no further than to the last field that it was asked for, steps over what lies before it
// without taking it apart, and takes no memory but for the values.
package jsonfield

import (
	"encoding/json"
	"slices"
	"strings"
)

// Read returns the values of top-level fields, in the order of the names: a string without its quotes, anything else as
// it is written; "" for a field that is not there, and for null. ok is false when the text is no JSON object, as far as
// it was read. Of a field that is there twice it takes the first.
func Read(text string, names ...string) (values []string, ok bool) {
	values = make([]string, len(names))
	at, more := open(text)
	if at < 0 {
		return values, false
	}
	for left := slices.Clone(names); more && len(left) > 0; {
		key, value, next := member(text, at)
		if next < 0 {
			return values, false
		}
		if i := slices.IndexFunc(left, func(name string) bool { return is(key, name) }); i >= 0 {
			values[slices.Index(names, left[i])] = scalar(value)
			left = slices.Delete(left, i, i+1)
		}
		if at, more = separator(text, next, '}'); at < 0 {
			return values, false
		}
	}
	return values, true
}

// open steps over the opening brace, to the first member if there is one.
func open(text string) (at int, more bool) {
	at = space(text, 0)
	if at >= len(text) || text[at] != '{' {
		return -1, false
	}
	at = space(text, at+1)
	return at, at >= len(text) || text[at] != '}'
}

// member steps over a key and its value; next is -1 when there are none.
func member(text string, at int) (key, value string, next int) {
	end := str(text, at)
	if end < 0 {
		return "", "", -1
	}
	key = text[at:end]
	at = space(text, end)
	if at >= len(text) || text[at] != ':' {
		return "", "", -1
	}
	at = space(text, at+1)
	if next = skip(text, at); next < 0 {
		return "", "", -1
	}
	return key, text[at:next], next
}

// separator steps over a comma, or the end of an object or a list.
func separator(text string, at int, end byte) (next int, more bool) {
	at = space(text, at)
	switch {
	case at >= len(text):
		return -1, false
	case text[at] == ',':
		return space(text, at+1), true
	case text[at] == end:
		return at + 1, false
	}
	return -1, false
}

// space steps over white space.
func space(text string, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
		at++
	}
	return at
}

// str steps over a string; -1 when there is none.
func str(text string, at int) int {
	if at >= len(text) || text[at] != '"' {
		return -1
	}
	for at++; ; at++ {
		i := strings.IndexAny(text[at:], `"\`)
		if i < 0 {
			return -1
		}
		at += i
		if text[at] == '"' {
			return at + 1
		}
		at++ // to what is escaped
		if at >= len(text) {
			return -1
		}
	}
}

// skip steps over a value; -1 when there is none. Of objects and lists it sees the brackets only.
func skip(text string, at int) int {
	if at >= len(text) {
		return -1
	}
	switch text[at] {
	case '"':
		return str(text, at)
	case '{', '[':
		return nested(text, at)
	}
	i := strings.IndexAny(text[at:], ",}] \t\n\r")
	if i <= 0 {
		return -1
	}
	return at + i
}

// nested steps over an object or a list, however deep.
func nested(text string, at int) int {
	for depth := 0; at >= 0 && at < len(text); {
		i := strings.IndexAny(text[at:], `"{}[]`)
		if i < 0 {
			return -1
		}
		at += i
		switch text[at] {
		case '"':
			at = str(text, at)
			continue
		case '{', '[':
			depth++
		default:
			depth--
		}
		at++
		if depth == 0 {
			return at
		}
	}
	return -1
}

// is says whether a key, with its quotes, is a name.
func is(key, name string) bool {
	return key[1:len(key)-1] == name || strings.ContainsRune(key, '\\') && scalar(key) == name
}

// scalar is a value as text.
func scalar(value string) string {
	if value == "null" {
		return ""
	}
	if value[0] != '"' {
		return value
	}
	if !strings.ContainsRune(value, '\\') {
		return value[1 : len(value)-1]
	}
	var text string
	if json.Unmarshal([]byte(value), &text) != nil {
		return ""
	}
	return text
}
