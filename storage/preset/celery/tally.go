package celery

import (
	"encoding/json"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/leadsman/leadsman/storage/driver"
)

// A tally is what was found in a part of the tasks in workers' hands. One that comes twice, as it may while the hash
// grows, counts twice.
type tally struct {
	complete bool // all were looked at
	pages    int
	looked   int64
	bytes    int
	tasks    map[address]int64
	unnamed  int64 // tasks that do not say where they were sent
}

// plus returns the tally with another page.
func (t tally) plus(page *driver.RedisReply) tally {
	t.tasks = maps.Clone(t.tasks)
	t.pages++
	t.complete = page.Cursor() == "0"
	for tag, task := range page.Pairs() {
		t.looked++
		t.bytes += len(tag) + len(task)
		if to, ok := addressOf(task); ok {
			t.tasks[to]++
		} else {
			t.unnamed++
		}
	}
	return t
}

// more is how many tasks to look at next; 0 when it is enough.
func (t tally) more() int {
	if t.pages >= mostPages {
		return 0
	}
	size := max(1, t.bytes/int(max(1, t.looked)))
	return max(0, min(mostLooked-int(t.looked), (mostBytes-t.bytes)/size))
}

// An address is where a task was sent: by Celery's own routing to the exchange "" with the queue's name for a routing
// key, or to another exchange, which knows by the key what queues get it.
type address struct{ exchange, key string }

// longestName bounds the names that are looked for at the end of a task.
const longestName = 4096

// addressOf reads the address of a task in a worker's hand, which is a JSON list: the message, the exchange, the routing
// key. The message may be megabytes long, so the text is read from its end; false when it is something else.
func addressOf(text string) (address, bool) {
	text, ok := strings.CutSuffix(strings.TrimRight(text, " \n"), "]")
	if !ok {
		return address{}, false
	}
	key, text, ok := lastString(text)
	if !ok {
		return address{}, false
	}
	text, ok = strings.CutSuffix(strings.TrimRight(text, " \n"), ",")
	if !ok {
		return address{}, false
	}
	exchange, _, ok := lastString(text)
	return address{exchange, key}, ok
}

// lastString cuts a JSON string off the end.
func lastString(text string) (value, rest string, ok bool) {
	text = strings.TrimRight(text, " \n")
	if text == "" || text[len(text)-1] != '"' {
		return "", "", false
	}
	for end, at := len(text)-1, len(text)-2; at >= 0 && at >= end-longestName; at-- {
		if text[at] != '"' || escaped(text, at) {
			continue
		}
		err := json.Unmarshal([]byte(text[at:]), &value)
		return value, text[:at], err == nil
	}
	return "", "", false
}

// escaped says that a byte has an odd number of backslashes before it.
func escaped(text string, at int) bool {
	n := 0
	for at > n && text[at-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// A bound is a queue that gets messages of an exchange: those with its routing key or, where there is a pattern, those
// whose routing key that matches.
type bound struct {
	key, queue string
	pattern    *regexp.Regexp // nil for none
	all        bool           // the pattern is not understood
}

// boundsOf reads the set of an exchange; empty when it could not be read, or is of another separator.
func boundsOf(set *driver.RedisReply, separator string) []bound {
	if set == nil || set.Err != nil {
		return nil
	}
	return driver.Derived(set, func(set *driver.RedisReply) []bound {
		var out []bound
		for _, text := range set.Texts() {
			parts := strings.SplitN(text, separator, 3)
			if len(parts) != 3 {
				continue
			}
			b := bound{key: parts[0], queue: parts[2]}
			if parts[1] != "" {
				b.pattern = compile(parts[1])
				b.all = b.pattern == nil
			}
			out = append(out, b)
		}
		return out
	})
}

// compile understands the patterns that Kombu writes; nil for others. Kombu counts no repetitions, and a few bytes that
// do, such as (a{1000}){1000}, would take a hundred megabytes.
func compile(pattern string) *regexp.Regexp {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil || counts(parsed) {
		return nil
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil
	}
	return compiled
}

// counts says that a pattern, or a part of it, counts repetitions.
func counts(pattern *syntax.Regexp) bool {
	return pattern.Op == syntax.OpRepeat || slices.ContainsFunc(pattern.Sub, counts)
}

// takes says whether a message with that routing key may have gone to the queue.
func (b bound) takes(key string) bool {
	return b.all || b.key == key || b.pattern != nil && b.pattern.MatchString(key)
}
