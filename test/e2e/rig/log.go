package rig

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// A Log keeps what is written to it.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Find returns the lines that have all the words.
func (l *Log) Find(words ...string) []string {
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
var kedaLog Log

// kedaLogger writes to kedaLog, and shows it too if it is asked to.
func kedaLogger(show bool) logr.Logger {
	return funcr.New(func(prefix, args string) {
		line := fmt.Sprintf("%s %s\n", prefix, args)
		_, _ = kedaLog.Write([]byte(line)) // never fails
		if show {
			fmt.Fprint(os.Stderr, "keda: ", line)
		}
	}, funcr.Options{})
}

// StreamErrors returns what KEDA has logged of the streams of a ScaledObject that ended with an error. That there was
// no server to open one is not among it.
func StreamErrors(object string) []string {
	var errs []string
	for _, stream := range []string{"StreamIsActive", "StreamMetricSpec"} {
		for _, line := range kedaLog.Find(`"name"=`+strconv.Quote(object), stream) {
			if !strings.Contains(line, "connection refused") {
				errs = append(errs, line)
			}
		}
	}
	return errs
}
