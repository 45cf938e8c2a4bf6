package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// A log keeps what is written to it.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// find returns the lines that have all the words.
func (l *log) find(words ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for line := range strings.Lines(l.text.String()) {
		has := true
		for _, word := range words {
			has = has && strings.Contains(line, word)
		}
		if has {
			found = append(found, line)
		}
	}
	return found
}

// kedaLog is what KEDA's scalers log. How a stream ended they tell nobody else.
var kedaLog log

// kedaLogger writes to kedaLog, and shows it with go test -v.
func kedaLogger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		line := fmt.Sprintf("%s %s\n", prefix, args)
		_, _ = kedaLog.Write([]byte(line)) // never fails
		if testing.Verbose() {
			fmt.Fprint(os.Stderr, "keda: ", line)
		}
	}, funcr.Options{})
}

// streamErrors returns what KEDA has logged of the streams of a ScaledObject that ended with an error. That there was
// no server to open one is not among it.
func streamErrors(object string) []string {
	var errs []string
	for _, stream := range []string{"StreamIsActive", "StreamMetricSpec"} {
		for _, line := range kedaLog.find(`"name"=`+strconv.Quote(object), stream) {
			if !strings.Contains(line, "connection refused") {
				errs = append(errs, line)
			}
		}
	}
	return errs
}
