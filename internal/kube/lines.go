package kube

import (
	"strconv"
	"strings"

	node "go.yaml.in/yaml/v3"
)

// lineOf follows a path of keys as far as it goes, and returns the line on which the last of them stands.
func lineOf(at *node.Node, path string) int {
	line := at.Line
	for path != "" {
		next, key, rest := step(at, path)
		if next == nil {
			break
		}
		at, line, path = next, key.Line, rest
	}
	return line
}

// child is what is at a path; nil where that does not go so far.
func child(at *node.Node, path string) *node.Node {
	for at != nil && path != "" {
		at, _, path = step(at, path)
	}
	return at
}

// step goes down by the first key of a path, which is that of a map or, in brackets, the number of an item. A key may itself
// hold dots, so the longest that fits is the one; in brackets, as that of an annotation, there is no doubt.
func step(at *node.Node, path string) (next, key *node.Node, rest string) {
	for at.Kind == node.AliasNode {
		at = at.Alias
	}
	switch at.Kind {
	case node.MappingNode:
		taken := 0
		for i := 0; i+1 < len(at.Content); i += 2 {
			k := at.Content[i]
			if n := fits(path, k.Value); n > taken {
				taken, key, next = n, k, at.Content[i+1]
			}
		}
		return next, key, strings.TrimPrefix(path[taken:], ".")
	case node.SequenceNode:
		inner, after, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
		i, err := strconv.Atoi(inner)
		if !ok || err != nil || i < 0 || i >= len(at.Content) {
			return nil, nil, ""
		}
		return at.Content[i], at.Content[i], strings.TrimPrefix(after, ".")
	default:
		return nil, nil, ""
	}
}

// fits is how much of a path a key takes; 0 where the path begins with another.
func fits(path, key string) int {
	if strings.HasPrefix(path, "["+key+"]") {
		return len(key) + len("[]")
	}
	rest, ok := strings.CutPrefix(path, key)
	if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
		return len(key)
	}
	return 0
}
