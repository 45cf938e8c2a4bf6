package sqltest

import (
	"errors"
	"strings"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
)

// Fails reads all queues and fails the test unless that is an error of the kind whose message says each of the parts.
func Fails(t *testing.T, engine driver.Reader, kind driver.Kind, says ...string) {
	t.Helper()
	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{}}, Limit: 10})
	known, ok := errors.AsType[*driver.Error](err)
	if !ok || known.Kind != kind {
		t.Errorf("Read = %+v, %v; want an error of kind %s", reading, err, kind)
		return
	}
	for _, part := range says {
		if !strings.Contains(known.Message, part) {
			t.Errorf("%q does not say %q", known.Message, part)
		}
	}
}
