package storagetest

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// closeTime is how long a Reader may take to close, whatever its server does: less than a process has that is told to end.
const closeTime = 10 * time.Second

// CloseInTime closes a Reader, whose server may not answer any more.
func CloseInTime(tb testing.TB, reader driver.Reader) {
	tb.Helper()
	closed := make(chan error, 1)
	go func() { closed <- reader.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			tb.Error(err)
		}
	case <-time.After(closeTime):
		tb.Errorf("the reader is not closed after %s", closeTime)
	}
}
