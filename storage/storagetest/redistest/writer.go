package redistest

import (
	"encoding/json"
	"testing"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// A Writer is what fixtures write by whose library's keys all begin with a prefix.
type Writer struct {
	TB     testing.TB
	Server *storagetest.RedisServer
	Prefix string
	Last   *int // number that a job or a worker was given
}

// NewWriter writes to a server, and has given no number yet.
func NewWriter(tb testing.TB, server *storagetest.RedisServer, prefix string) Writer {
	return Writer{tb, server, prefix, new(int)}
}

// Do runs a command on a key under the prefix.
func (w Writer) Do(command, key string, args ...string) {
	w.TB.Helper()
	w.Server.Do(w.TB, append([]string{command, w.Prefix + key}, args...)...)
}

// JSON is a value as libraries write it.
func JSON(tb testing.TB, value any) string {
	tb.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}
