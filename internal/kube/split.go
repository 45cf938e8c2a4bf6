package kube

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	node "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// A part is the text of one document.
type part struct {
	text  []byte
	lines lines
}

// lines are those of the stream for the lines of a part as YAML counts them.
type lines struct {
	first int   // where the part begins, from 1
	all   []int // nil where YAML counts as the stream does
}

// split splits a stream. The line --- parts documents, and may have the start of the next behind it; it cannot be within one.
func split(text []byte) []part {
	var all []part
	one := part{lines: lines{first: 1}}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		rest, ok := bytes.CutPrefix(line, []byte("---"))
		if ok && len(bytes.TrimSpace(rest[:min(1, len(rest))])) == 0 {
			all = append(all, one)
			one = part{lines: lines{first: number}}
			line = rest
		}
		one.text = append(one.text, line...)
	}
	return append(all, one)
}

// breaks are where YAML begins a line, and oddBreaks those of them where people's programs do not: they count line feeds.
var (
	breaks    = regexp.MustCompile("\r\n|[\r\n\u0085\u2028\u2029]")
	oddBreaks = regexp.MustCompile("\r(?:[^\n]|$)|[\u0085\u2028\u2029]")
)

// linesOf makes the lines of a text that begins at a line of the stream.
func linesOf(text []byte, first int) lines {
	l := lines{first: first}
	if !oddBreaks.Match(text) {
		return l
	}
	line := first
	l.all = []int{line}
	for _, at := range breaks.FindAllIndex(text, -1) {
		if text[at[1]-1] == '\n' {
			line++
		}
		l.all = append(l.all, line)
	}
	return l
}

// of returns the line of the stream for one of YAML's, from 1.
func (l lines) of(n int) int {
	if l.all == nil {
		return l.first + n - 1
	}
	return l.all[min(max(n, 1), len(l.all))-1]
}

// json is the document as kubectl sends it to the API server. A key may not be there twice.
func (p part) json() ([]byte, error) {
	if err := checkAliases(p.text); err != nil {
		return nil, err
	}
	raw, err := yaml.YAMLToJSONStrict(p.text)
	if err != nil && bytes.IndexByte(p.text, '\t') >= 0 && json.Valid(p.text) {
		return p.text, nil // YAML takes no tabs, and JSON does
	}
	return raw, err
}

// node is the same with its lines; nil where they cannot be told.
func (p part) node() *node.Node {
	var document node.Node
	if node.Unmarshal(p.text, &document) != nil || len(document.Content) == 0 {
		return nil
	}
	return document.Content[0]
}

// lineNumber is how the parser says where it is.
var lineNumber = regexp.MustCompile(`\bline (\d+)`)

// fault makes the parser's words an Error: on one line, with lines of the stream.
func (p part) fault(err error) *Error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	for _, before := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors: "} {
		text = strings.TrimPrefix(text, before)
	}
	e := &Error{}
	e.Text = lineNumber.ReplaceAllStringFunc(text, func(found string) string {
		n, err := strconv.Atoi(found[len("line "):])
		if err != nil {
			return found
		}
		n = p.lines.of(n)
		if e.Line == 0 {
			e.Line = n
		}
		return "line " + strconv.Itoa(n)
	})
	e.Text = strings.TrimPrefix(e.Text, "line "+strconv.Itoa(e.Line)+": ")
	return e
}
