package kube

import (
	"bytes"
	"errors"

	node "go.yaml.in/yaml/v3"
)

// expansion bounds what aliases make of a document: so many times its length, and what is little anyway.
const expansion, smallExpansion = 10, 64 << 10

var errExpands = errors.New("its aliases, such as *name, make it many times as long; write out what they stand for")

// checkAliases refuses a text whose aliases make much more of it than there is. A hundred kilobytes can have their longest
// part thousands of times in them by aliases, or by aliases of aliases.
func checkAliases(text []byte) error {
	if bytes.IndexByte(text, '&') < 0 || bytes.IndexByte(text, '*') < 0 {
		return nil // there is none
	}
	var document node.Node
	if err := node.Unmarshal(text, &document); err != nil {
		return err
	}
	e := expander{most: expansion*len(text) + smallExpansion, sizes: map[*node.Node]int{}}
	if e.size(&document) > e.most {
		return errExpands
	}
	return nil
}

// An expander adds up how long nodes are with their aliases written out.
type expander struct {
	most  int                // where the size is too large, and may be added up no further
	sizes map[*node.Node]int // of what aliases stand for, each added up once; most where that is under way
}

func (e *expander) size(n *node.Node) int {
	if n.Anchor != "" {
		if size, ok := e.sizes[n]; ok {
			return size
		}
		e.sizes[n] = e.most + 1 // what holds itself has no end
	}
	size := 1 + len(n.Value)
	if n.Kind == node.AliasNode {
		size += e.size(n.Alias)
	}
	for _, each := range n.Content {
		size = min(size+e.size(each), e.most+1) // no sum is ever too large for an int
	}
	if n.Anchor != "" {
		e.sizes[n] = size
	}
	return size
}
