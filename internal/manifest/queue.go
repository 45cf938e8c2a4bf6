package manifest

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A pattern is one queue, or a glob, of the language of a trigger's key "queue".
type pattern struct {
	literal string // the name, when there is no wildcard
	regex   string // RE2, to be anchored; of globs and names alike
	glob    bool
}

// patterns reads a comma-separated list: * stands for any run of characters, ? for one, and a backslash before one of
// , * ? \ takes its meaning away.
func patterns(list string) ([]pattern, error) {
	if !utf8.ValidString(list) {
		return nil, errors.New("is not UTF-8")
	}
	if strings.ContainsFunc(list, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return nil, fmt.Errorf("%s holds a control character", quote(list))
	}
	var all []pattern
	for rest, more := list, true; more; {
		var p pattern
		var err error
		if p, rest, more, err = cutPattern(rest); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if len(all) > maxQueueList {
		return nil, fmt.Errorf("lists more than %d queues", maxQueueList)
	}
	return all, nil
}

// cutPattern reads the pattern before the first comma.
func cutPattern(list string) (p pattern, rest string, more bool, err error) {
	item, rest, more := cutComma(list)
	item = strings.Trim(item, " \t")
	var name, regex strings.Builder
	for i := 0; i < len(item); i++ {
		c := item[i]
		switch {
		case c == '*':
			p.glob = true
			regex.WriteString(".*")
		case c == '?':
			p.glob = true
			regex.WriteByte('.')
		case c == '\\' && (i+1 == len(item) || !strings.ContainsRune(`,*?\`, rune(item[i+1]))):
			return p, "", false, fmt.Errorf(`%s holds a backslash before none of , * ? \ (write \\ for a backslash)`, quote(item))
		default:
			if c == '\\' {
				i++
			}
			name.WriteByte(item[i])
			regex.WriteString(quoteByte(item[i]))
		}
	}
	if item == "" {
		return p, "", false, errors.New("holds an empty name, before, after or between commas; remove the key for all queues")
	}
	p.literal, p.regex = name.String(), regex.String()
	return p, rest, more, nil
}

// cutComma cuts a list at its first comma that no backslash stands before.
func cutComma(list string) (item, rest string, more bool) {
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '\\':
			i++
		case ',':
			return list[:i], list[i+1:], true
		}
	}
	return list, "", false
}

// quoteByte makes one byte of a name stand for itself in RE2. Bytes of longer characters always do.
func quoteByte(c byte) string {
	if c >= utf8.RuneSelf {
		return string([]byte{c})
	}
	return regexp.QuoteMeta(string(rune(c)))
}

// everything tells whether one of them is all queues.
func everything(all []pattern) bool {
	return len(all) == 0 || slices.ContainsFunc(all, func(p pattern) bool { return p.regex == ".*" })
}
