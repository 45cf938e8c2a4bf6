package manifest

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// A reader reads one map of a spec, key by key. What has been read is known; the rest is a fault, said by done.
type reader struct {
	path   string // dotted, with a dot at the end; "" at the root
	line   int    // where the map begins
	values map[string]*yaml.Node
	lines  map[string]int // of keys
	order  []string       // of keys, as they stand there
	known  []string
	faults *faults
}

// read makes a reader of a map, or says that it is none and makes one of nothing.
func (f *faults) read(path string, n *yaml.Node) *reader {
	r := &reader{path: path, line: n.Line, values: map[string]*yaml.Node{}, lines: map[string]int{}, faults: f}
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		f.addf(n.Line, strings.TrimSuffix(path, "."), "must be a map, not %s", kind(n))
		return r
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if _, twice := r.values[key.Value]; twice {
			f.addf(key.Line, r.at(key.Value), "is there twice; keep one of them")
			continue
		}
		r.values[key.Value], r.lines[key.Value] = value, key.Line
		r.order = append(r.order, key.Value)
	}
	return r
}

// at is the path of a key. A key is anybody's text: it must not break the report.
func (r *reader) at(key string) string {
	odd := func(c rune) bool { return c <= ' ' || c == '"' || !unicode.IsPrint(c) }
	if key == "" || len(key) > maxShown || strings.ContainsFunc(key, odd) {
		key = quote(key)
	}
	return r.path + key
}

func (r *reader) faultf(key, format string, args ...any) {
	line, there := r.lines[key]
	if !there {
		line = r.line
	}
	r.faults.addf(line, r.at(key), format, args...)
}

// get returns the value of a key, or nil when it is not there. One that is empty is a fault.
func (r *reader) get(key string) *yaml.Node {
	r.known = append(r.known, key)
	n, ok := r.values[key]
	if !ok {
		return nil
	}
	n = resolve(n)
	if n.Kind == yaml.ScalarNode && (n.Tag == "!!null" || strings.TrimSpace(n.Value) == "") {
		r.faultf(key, "is empty; give it a value, or remove the key")
		return nil
	}
	return n
}

// refuse reports those of the keys that are there.
func (r *reader) refuse(reason string, keys ...string) {
	for _, key := range keys {
		if _, there := r.values[key]; there {
			r.faultf(key, "%s", reason)
		}
	}
}

// done reports the keys that nobody asked for.
func (r *reader) done() {
	for _, key := range r.order {
		if !contains(r.known, key) {
			r.faultf(key, "unknown key; %s", meant(key, r.known))
		}
	}
}

// text returns a string, or "".
func (r *reader) text(key string) string {
	n := r.get(key)
	switch {
	case n == nil:
		return ""
	case n.Kind != yaml.ScalarNode:
		r.faultf(key, "must be text, not %s", kind(n))
	case n.Tag != "!!str" && n.Tag != "!!int":
		r.faultf(key, "must be text, not %s; put it into quotes", kind(n))
	default:
		return strings.TrimSpace(n.Value)
	}
	return ""
}

// scalar returns a number, a boolean or text as it was written, or "".
func (r *reader) scalar(key string) string {
	n := r.get(key)
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		r.faultf(key, "must be one value, not %s", kind(n))
		return ""
	}
	return strings.TrimSpace(n.Value)
}

// name returns one that Kubernetes takes for an object, or "".
func (r *reader) name(key string) string {
	name := r.text(key)
	if name != "" && !isName(name) {
		r.faultf(key, "%s is no name: give at most 63 lower-case letters, digits and inner dashes", quote(name))
		return ""
	}
	return name
}

// oneOf returns one of the words, or "".
func (r *reader) oneOf(key string, words []string) string {
	word := r.scalar(key)
	if word != "" && !contains(words, word) {
		r.faultf(key, "%s is not known; %s", quote(word), meant(word, words))
		return ""
	}
	return word
}

// count returns a whole number within bounds, and whether there is one.
func (r *reader) count(key string, least, most int) (int, bool) {
	text := r.scalar(key)
	if text == "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		r.faultf(key, "%s must be a whole number from %d to %d", quote(text), least, most)
		return 0, false
	}
	return n, true
}

// number returns a decimal number within bounds as it was written, or "".
func (r *reader) number(key string, least, most float64) string {
	text := r.scalar(key)
	if text == "" {
		return ""
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.ContainsAny(text, "xXpP_iInN") || value < least || value > most {
		r.faultf(key, "%s must be a decimal number from %g to %g", quote(text), least, most)
		return ""
	}
	return text
}

// boolean returns true or false as text, or "".
func (r *reader) boolean(key string) string { return r.oneOf(key, []string{"true", "false"}) }

// duration returns one within bounds, as it was written too; zero and "" when there is none.
func (r *reader) duration(key string, most time.Duration) (time.Duration, string) {
	text := r.scalar(key)
	if text == "" {
		return 0, ""
	}
	d, err := time.ParseDuration(text)
	if whole, failed := strconv.Atoi(text); failed == nil && whole >= 0 && whole <= int(most.Seconds()) {
		d, err = time.Duration(whole)*time.Second, nil
	}
	if err != nil || d < 0 || d > most {
		r.faultf(key, "%s must be a duration from 0s to %s, such as 90s or 5m", quote(text), human(most))
		return 0, ""
	}
	return d, text
}

// wholeSeconds returns a duration for a field that counts seconds, and whether there is one.
func (r *reader) wholeSeconds(key string, most time.Duration) (time.Duration, bool) {
	d, text := r.duration(key, most)
	if d%time.Second != 0 {
		r.faultf(key, "%s must be whole seconds: Kubernetes counts those", quote(text))
		return 0, false
	}
	return d, text != ""
}

// words returns a map from text to text, or nil.
func (r *reader) words(key string) map[string]string {
	n := r.get(key)
	if n == nil {
		return nil
	}
	inner := r.faults.read(r.at(key)+".", n)
	words := map[string]string{}
	for _, k := range inner.order {
		words[k] = inner.text(k)
	}
	return words
}

// resolve follows an alias to what it stands for.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// kind names what YAML made of a value.
func kind(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!bool":
		return "true or false"
	case n.Tag == "!!int", n.Tag == "!!float":
		return "a number"
	case n.Tag == "!!null":
		return "nothing"
	case n.Tag == "!!timestamp":
		return "a date"
	default:
		return "text"
	}
}
