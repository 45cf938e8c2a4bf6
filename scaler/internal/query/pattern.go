package query

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The language of the key "queue": patterns between commas, white space around them trimmed. In a pattern '*' stands
// for any run of characters, '/' and none included, '?' for one character, and a backslash before one of , * ? \
// takes its meaning away. Everything else is the name, byte for byte.
//
// The canonical form of a pattern escapes what is literal and orders each run of wildcards: question marks first,
// then at most one star. So a star is always followed by a literal or by the end.

const (
	special     = `,*?\`
	maxPatterns = 100 // in one trigger
	maxPattern  = 512 // bytes of one pattern without its escapes
)

// canonical returns the canonical form of a list of patterns, or what is wrong with it.
func canonical(list string) (queues, fault string) {
	if plain(list) {
		return list, ""
	}
	patterns := make([]string, 0, 4)
	for rest, more := list, true; more; {
		if len(patterns) == maxPatterns {
			return "", "lists more than " + strconv.Itoa(maxPatterns) + " queues"
		}
		var item string
		item, rest, more = cutPattern(rest)
		pattern, fault := canonicalPattern(strings.Trim(item, whiteSpace))
		if fault != "" {
			return "", fault
		}
		patterns = append(patterns, pattern)
	}
	if slices.Contains(patterns, "*") {
		return "", ""
	}
	slices.Sort(patterns)
	return strings.Join(slices.Compact(patterns), ","), ""
}

// plain tells whether list is a single short name of printable ASCII that is its own canonical form: the usual case.
func plain(list string) bool {
	for i := range len(list) {
		switch c := list[i]; {
		case c < ' ' || c > '~' || c == ':':
			return false
		case strings.IndexByte(special, c) >= 0:
			return false
		}
	}
	return len(list) <= maxPattern
}

// canonicalPattern returns the canonical form of one trimmed pattern, or what is wrong with it.
func canonicalPattern(item string) (pattern, fault string) {
	if fault := unfit(item); fault != "" {
		return "", fault
	}
	var b strings.Builder
	size, star := 0, false
	for i := 0; i < len(item); i++ {
		c := item[i]
		size++
		switch c {
		case '?':
			b.WriteByte(c)
			continue
		case '*':
			star = true
			continue
		}
		if star {
			b.WriteByte('*')
			star = false
		}
		if c == '\\' {
			i++
			if i == len(item) || strings.IndexByte(special, item[i]) < 0 {
				return "", quote(item) + ` holds a backslash before none of , * ? \ (write \\ for a backslash)`
			}
			b.WriteByte(c)
			c = item[i]
		}
		b.WriteByte(c)
	}
	if star {
		b.WriteByte('*')
	}
	if size > maxPattern {
		return "", quote(item) + " is longer than " + strconv.Itoa(maxPattern) + " bytes"
	}
	return b.String(), ""
}

// unfit says why no queue can be meant by item, or "".
func unfit(item string) string {
	switch {
	case item == "":
		return "holds an empty name, before, after or between commas"
	case len(item) > 2*maxPattern: // even if every other byte is a backslash
		return quote(item) + " is longer than " + strconv.Itoa(maxPattern) + " bytes"
	case !utf8.ValidString(item):
		return quote(item) + " is not UTF-8"
	case strings.ContainsFunc(item, unicode.IsControl):
		return quote(item) + " holds a control character"
	}
	// Queue names are shown in many places; a password must not get there.
	if _, authority, ok := strings.Cut(item, "://"); ok && strings.Contains(authority, "@") {
		return "looks like a connection string, and connections live on the server"
	}
	return ""
}

// Unfit says why a trigger could not ask for a queue of this very name, or "" when it could.
func Unfit(name string) string {
	if len(name) > maxPattern {
		return quote(name) + " is longer than " + strconv.Itoa(maxPattern) + " bytes"
	}
	return unfit(name)
}

// cutPattern splits list at its first comma that is not escaped; more is false when there is none.
func cutPattern(list string) (pattern, rest string, more bool) {
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

// Names returns the names of the queues and true when q names each of them, or false when it asks for all queues or
// holds a glob.
func (q Query) Names() ([]string, bool) {
	if !q.Exact() {
		return nil, false
	}
	return q.Patterns(), true
}

// Exact tells whether q names each of its queues. It allocates nothing.
func (q Query) Exact() bool { return q.Queues != "" && !wild(q.Queues) }

// Patterns returns the queue patterns of q without their escapes; none means all queues. They are meant for access
// checks and for people: a star or question mark that is part of a name (escaped in the metadata) cannot be told
// from a wildcard here. Where it is taken for one, a check errs on the safe side.
func (q Query) Patterns() []string {
	if q.Queues == "" {
		return nil
	}
	patterns := make([]string, 0, 1+strings.Count(q.Queues, ","))
	for rest, more := q.Queues, true; more; {
		var pattern string
		pattern, rest, more = cutPattern(rest)
		patterns = append(patterns, unescape(pattern))
	}
	return patterns
}

// Match tells whether q asks for the queue of this name. It allocates nothing.
func (q Query) Match(queue string) bool {
	if q.Queues == "" {
		return true
	}
	for rest, more := q.Queues, true; more; {
		var pattern string
		pattern, rest, more = cutPattern(rest)
		if match(pattern, queue) {
			return true
		}
	}
	return false
}

// match tells whether a canonical pattern matches the whole name. On a mismatch it goes back to the last star only,
// which is enough, and so takes at most len(pattern)*len(name) steps. A star may take bytes rather than characters,
// because what follows it is a literal, and UTF-8 finds no literal at a wrong place.
func match(pattern, name string) bool {
	p, n := 0, 0
	starP, starN := -1, 0 // behind the last star, and where its run ends so far
	for {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			p++
			starP, starN = p, n
			if p == len(pattern) {
				return true
			}
			continue
		case n == len(name) && p == len(pattern):
			return true
		case n == len(name):
			return false
		}
		if dp, dn := step(pattern[p:], name[n:]); dn > 0 {
			p, n = p+dp, n+dn
			continue
		}
		if starP < 0 {
			return false
		}
		starN++
		p, n = starP, starN
	}
}

// step matches the first literal byte or question mark of pattern with the start of name, which is not empty. It
// returns the bytes taken of each; none when they do not match.
func step(pattern, name string) (ofPattern, ofName int) {
	switch {
	case pattern == "":
		return 0, 0
	case pattern[0] == '?':
		_, size := utf8.DecodeRuneInString(name)
		return 1, size
	case pattern[0] == '\\' && pattern[1] == name[0]:
		return 2, 1
	case pattern[0] == name[0] && pattern[0] != '\\':
		return 1, 1
	}
	return 0, 0
}

// wild tells whether canonical patterns hold a wildcard.
func wild(queues string) bool {
	for i := 0; i < len(queues); i++ {
		switch queues[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		}
	}
	return false
}

// unescape drops the backslashes that escape.
func unescape(pattern string) string {
	if strings.IndexByte(pattern, '\\') < 0 {
		return pattern
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' {
			i++
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}
