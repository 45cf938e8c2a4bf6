package manifest

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxShown is how much of a value a fault repeats, in bytes.
const maxShown = 48

// maxName is the longest name of an object, in bytes: names become labels.
const maxName = 63

// quote shows a value, cut short.
func quote(value string) string {
	if len(value) > maxShown {
		value = strings.ToValidUTF8(value[:maxShown], "") + "…"
	}
	return strconv.Quote(value)
}

// isName tells whether a name is a DNS label, which is what Kubernetes takes everywhere.
func isName(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return name != "" && len(name) <= maxName && name[0] != '-' && name[len(name)-1] != '-'
}

// human is a duration without the zeros that Go's own text ends in.
func human(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// wrap breaks a comment into lines.
func wrap(text string) string {
	const width = 100 // bytes
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

func contains(words []string, word string) bool { return slices.Contains(words, word) }
