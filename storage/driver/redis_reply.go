package driver

import (
	"errors"
	"math"
	"strconv"
)

// A RedisReply is the reply to one read. What its methods return is there in functions given to [RedisReads.Then]
// after it was asked for; a key that does not exist is 0, nothing, or empty.
type RedisReply struct {
	Command string // in words: "LLEN", "XINFO GROUPS"
	Key     string
	Args    []string // what follows the key
	Owners  []int    // who asked for it
	Watched bool     // its owners are signalled when the key changes

	// Value is what the server replied, for the engine to set: nil, int64, float64, string, []any or map[string]any.
	Value any
	// Err is what was instead, for the engine to set: an *Error.
	Err error

	shape   redisShape
	lenient bool

	number int64
	text   string
	exists bool // the text
	texts  []string
	pairs  map[string]string
	maps   []map[string]string
	scores []RedisScore
	cursor string

	derived any // see Derived
}

// A RedisScore is an element of a sorted set.
type RedisScore struct {
	Element string
	Score   float64
}

// Lenient says whether its owners can do without it.
func (p *RedisReply) Lenient() bool { return p.lenient }

// Int returns a count.
func (p *RedisReply) Int() int64 { return p.number }

// Text returns a string, and false when there is none.
func (p *RedisReply) Text() (string, bool) { return p.text, p.exists }

// Texts returns elements, fields or the ids of entries.
func (p *RedisReply) Texts() []string { return p.texts }

// Pairs returns a hash.
func (p *RedisReply) Pairs() map[string]string { return p.pairs }

// Cursor returns where to read on; "0" at the end.
func (p *RedisReply) Cursor() string { return p.cursor }

// Maps returns a stream's groups. A field that is null is not among them.
func (p *RedisReply) Maps() []map[string]string { return p.maps }

// Scores returns elements with their scores.
func (p *RedisReply) Scores() []RedisScore { return p.scores }

// Derived returns what compute makes of a reply. It is made once, for all queues that read the same, as of a set that they
// share and that takes a while to look through. It must not be changed.
func Derived[T any](p *RedisReply, compute func(*RedisReply) T) T {
	if out, ok := p.derived.(T); ok {
		return out
	}
	out := compute(p)
	p.derived = out
	return out
}

// A redisShape is what a reply must look like.
type redisShape int

const (
	redisInt redisShape = iota
	redisText
	redisTexts
	redisPairs
	redisMaps
	redisScores
	redisEntries
	redisPage
	redisPairsPage
)

// take reads a reply's Value.
func (s redisShape) take(p *RedisReply) error {
	ok := false
	switch s {
	case redisInt:
		p.number, ok = p.Value.(int64)
		ok = ok && p.number >= 0
	case redisText:
		p.text, p.exists = scalarText(p.Value)
		ok = p.exists || p.Value == nil
	case redisTexts:
		p.texts, ok = textList(p.Value)
	case redisPairs:
		p.pairs, ok = textPairs(p.Value)
	case redisMaps:
		p.maps, ok = pairsList(p.Value)
	case redisScores:
		p.scores, ok = scoreList(p.Value)
	case redisEntries:
		p.texts, ok = entryIDs(p.Value)
	case redisPage, redisPairsPage:
		ok = p.takePage(s == redisPairsPage)
	}
	p.Value = nil
	if !ok {
		return Errorf(Contract, "%s of key %q was answered with something else than it should be", p.Command, p.Key)
	}
	return nil
}

// takePage reads a cursor, and elements or pairs.
func (p *RedisReply) takePage(pairs bool) (ok bool) {
	page, _ := p.Value.([]any)
	if len(page) != 2 {
		return false
	}
	if p.cursor, ok = scalarText(page[0]); !ok {
		return false
	}
	if pairs {
		p.pairs, ok = textPairs(page[1])
	} else {
		p.texts, ok = textList(page[1])
	}
	return ok
}

func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

func textList(v any) ([]string, bool) {
	if v == nil {
		return nil, true
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]string, len(list))
	for i, element := range list {
		text, ok := scalarText(element)
		if !ok && element != nil {
			return nil, false
		}
		out[i] = text
	}
	return out, true
}

// textPairs takes a map, and the list of keys and values that stands for it in RESP2. Pairs with null are left out.
func textPairs(v any) (map[string]string, bool) {
	out := map[string]string{}
	switch v := v.(type) {
	case nil:
	case map[string]any:
		for key, value := range v {
			if text, ok := scalarText(value); ok {
				out[key] = text
			}
		}
	case []any:
		if len(v)%2 != 0 {
			return nil, false
		}
		for i := 0; i < len(v); i += 2 {
			key, ok := scalarText(v[i])
			if !ok {
				return nil, false
			}
			if text, ok := scalarText(v[i+1]); ok {
				out[key] = text
			}
		}
	default:
		return nil, false
	}
	return out, true
}

func pairsList(v any) ([]map[string]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, v == nil
	}
	out := make([]map[string]string, len(list))
	for i, element := range list {
		if out[i], ok = textPairs(element); !ok {
			return nil, false
		}
	}
	return out, true
}

// scoreList takes pairs of element and score, and the flat list that stands for them in RESP2.
func scoreList(v any) ([]RedisScore, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, v == nil
	}
	var flat []any
	for _, element := range list {
		if pair, ok := element.([]any); ok {
			flat = append(flat, pair...)
		} else {
			flat = append(flat, element)
		}
	}
	if len(flat)%2 != 0 {
		return nil, false
	}
	out := make([]RedisScore, 0, len(flat)/2)
	for i := 0; i < len(flat); i += 2 {
		element, ok := scalarText(flat[i])
		score, err := toFloat(flat[i+1])
		if !ok || err != nil {
			return nil, false
		}
		out = append(out, RedisScore{element, score})
	}
	return out, true
}

func toFloat(v any) (float64, error) {
	if f, ok := v.(float64); ok {
		if math.IsNaN(f) {
			return 0, errors.New("not a number")
		}
		return f, nil
	}
	text, _ := scalarText(v)
	return strconv.ParseFloat(text, 64)
}

// entryIDs takes the entries of a stream.
func entryIDs(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, v == nil
	}
	out := make([]string, 0, len(list))
	for _, element := range list {
		entry, _ := element.([]any)
		if len(entry) != 2 {
			return nil, false
		}
		id, ok := scalarText(entry[0])
		if !ok {
			return nil, false
		}
		out = append(out, id)
	}
	return out, true
}
