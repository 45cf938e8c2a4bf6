//go:build libraries

package bullmq_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/bulltest"
)

// A library is a fixture that writes with BullMQ itself; where it refuses a name, it writes the keys.
type library struct {
	bulltest.Library

	keys *fixture
}

var _ storagetest.Fixture = library{}

// newLibrary makes fixtures of the release of a layout, by its name in test/libraries.
func newLibrary(layout int) func(testing.TB, *storagetest.RedisServer) library {
	return func(tb testing.TB, server *storagetest.RedisServer) library {
		tb.Helper()
		open := map[string]any{"release": fmt.Sprintf("bullmq%d", layout)}
		return library{bulltest.Open(tb, server, "bullmq", open), newFixture(tb, server, layout)}
	}
}

// Insert implements storagetest.Fixture. BullMQ refuses names with a colon, and its libraries for other languages do not.
func (l library) Insert(queue string, n int) {
	l.TB.Helper()
	if strings.Contains(queue, ":") {
		l.keys.Insert(queue, n)
		return
	}
	l.Library.Insert(queue, n)
}
