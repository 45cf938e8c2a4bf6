package redistest

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

// mostCounted bounds the counts of a script: more than any server's memory holds.
const mostCounted = 1 << 40

// A script is what a Redis would answer whose content is the lines of a text, each of which is used once. It keeps to
// what Redis itself vouches for, whoever has written: the types of replies, and the order and bounds of scores. At its end
// there is nothing more.
type script struct{ lines []string }

func newScript(text string) *script { return &script{lines: strings.Split(text, "\n")} }

// next takes a line; false at the end.
func (s *script) next() (string, bool) {
	if len(s.lines) == 0 {
		return "", false
	}
	line := s.lines[0]
	s.lines = s.lines[1:]
	return line, true
}

// count is how many there are of something.
func (s *script) count() int64 {
	line, _ := s.next()
	if n, err := strconv.ParseInt(line, 10, 64); err == nil {
		return min(max(n, 0), mostCounted)
	}
	return int64(len(line))
}

// texts are at most so many elements.
func (s *script) texts(most int) []any {
	n := min(s.count(), int64(most), int64(len(s.lines)))
	out := make([]any, n)
	for i := range out {
		out[i], _ = s.next()
	}
	return out
}

// text is one element, or nothing.
func (s *script) text() any {
	if line, ok := s.next(); ok {
		return line
	}
	return nil
}

// scores are elements with scores, as ZRANGEBYSCORE replies.
func (s *script) scores(args []string) []any {
	lowest, highest, most := args[0], args[1], args[len(args)-1]
	limit, _ := strconv.Atoi(most)
	type scored struct {
		element string
		score   float64
	}
	var all []scored
	for n := min(s.count(), int64(limit)); n > 0; n-- {
		element, ok := s.next()
		if !ok {
			break
		}
		text, _ := s.next()
		score, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(score) || !within(score, lowest, highest) {
			continue
		}
		all = append(all, scored{element, score})
	}
	slices.SortFunc(all, func(a, b scored) int { return cmp.Compare(a.score, b.score) })
	out := make([]any, len(all))
	for i, e := range all {
		out[i] = []any{e.element, e.score}
	}
	return out
}

// within tells whether a score is between two bounds in Redis' notation.
func within(score float64, lowest, highest string) bool {
	low, above := strings.CutPrefix(lowest, "(")
	high, below := strings.CutPrefix(highest, "(")
	from, _ := strconv.ParseFloat(low, 64) // it takes -inf too
	to, _ := strconv.ParseFloat(high, 64)
	return (score > from || !above && score == from) && (score < to || !below && score == to)
}

// maps are the replies of XINFO GROUPS.
func (s *script) maps() []any {
	groups := make([]any, min(s.count(), 10))
	for i := range groups {
		fields := map[string]any{}
		for _, name := range []string{"name", "pending", "last-delivered-id", "lag"} {
			fields[name] = s.text()
		}
		groups[i] = fields
	}
	return groups
}

// pairs alternate keys and values.
func (s *script) pairs() []any {
	all := s.texts(len(s.lines))
	return all[:len(all)/2*2]
}

// reply is what the server answers.
func (s *script) reply(read *driver.RedisReply) any {
	switch read.Command {
	case "GET", "HGET", "LINDEX":
		return s.text()
	case "HMGET":
		fields := make([]any, len(read.Args))
		for i := range fields {
			fields[i] = s.text()
		}
		return fields
	case "LRANGE":
		return s.texts(1000)
	case "SMEMBERS":
		return s.texts(len(s.lines))
	case "HGETALL":
		return s.pairs()
	case "HSCAN", "SSCAN":
		return s.page(read.Command == "HSCAN")
	case "ZRANGEBYSCORE":
		return s.scores(read.Args)
	case "XINFO GROUPS":
		return s.maps()
	case "XRANGE":
		return s.entries()
	}
	return s.count()
}

// page is a cursor, which is 0 at the end of the script, and elements.
func (s *script) page(pairs bool) []any {
	cursor := "0"
	if len(s.lines) > 2 {
		cursor = strconv.FormatInt(s.count(), 10)
	}
	if pairs {
		return []any{cursor, s.pairs()}
	}
	return []any{cursor, s.texts(len(s.lines))}
}

// entries are those of a stream, whose ids Redis makes sure of.
func (s *script) entries() []any {
	entries := make([]any, min(s.count(), 10))
	for i := range entries {
		entries[i] = []any{strconv.FormatInt(s.count(), 10) + "-" + strconv.FormatInt(s.count(), 10), []any{"k", "v"}}
	}
	return entries
}

// A uniform Redis holds one of everything, and each value is the same text.
type uniform struct {
	text string
	sent uint64
}

func (u *uniform) value() any {
	u.sent += uint64(len(u.text))
	return u.text
}

func (u *uniform) reply(read *driver.RedisReply) any {
	switch read.Command {
	case "GET", "HGET", "LINDEX":
		return u.value()
	case "HMGET":
		fields := make([]any, len(read.Args))
		for i := range fields {
			fields[i] = u.value()
		}
		return fields
	case "LRANGE", "SMEMBERS":
		return []any{u.value()}
	case "HGETALL":
		return []any{"field", u.value()}
	case "HSCAN":
		return []any{"0", []any{"field", u.value()}}
	case "SSCAN":
		return []any{"0", []any{u.value()}}
	case "ZRANGEBYSCORE":
		at := strconv.FormatInt(Noon().Unix(), 10)
		if within(float64(Noon().Unix()), read.Args[0], read.Args[1]) {
			return []any{[]any{u.value(), at}}
		}
		return nil
	case "XINFO GROUPS":
		return []any{map[string]any{"name": u.value(), "pending": "1", "last-delivered-id": "5-0", "lag": u.value()}}
	case "XRANGE":
		return []any{[]any{"5-1", []any{"k", u.value()}}}
	}
	return int64(1)
}
