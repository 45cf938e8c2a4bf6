package faults

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// A row is what came of one fault.
type row struct {
	source, fault string
	told          string        // what KEDA was told meanwhile
	value         time.Duration // from the end to the first value that stayed
	woken         time.Duration // from the end, or from the job's commit if that was later, to the wake
	early         bool          // it was woken before the end
}

func (r row) String() string {
	return fmt.Sprintf("| %s | %s | %s | %s | %s |", r.source, r.fault, r.told, round(r.value), r.wake())
}

func (r row) wake() string {
	if r.early {
		return "during the fault"
	}
	return round(r.woken)
}

// told are the rows of all tests.
var told table

type table struct {
	mu   sync.Mutex
	rows []string
}

func (t *table) add(r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, r.String())
}

// take adds the rows that another process has written to a file.
func (t *table) take(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, strings.Split(strings.TrimSpace(strings.TrimPrefix(string(text), heading)), "\n")...)
	return nil
}

const heading = "| Source | Fault | What KEDA was told meanwhile | Value right after | Worker woken after |\n|---|---|---|---:|---:|\n"

// write writes the rows to a file, if there is one.
func (t *table) write(file string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if file == "" || len(t.rows) == 0 {
		return nil
	}
	slices.Sort(t.rows)
	return os.WriteFile(file, []byte(heading+strings.Join(t.rows, "\n")+"\n"), 0o600)
}

// summary is what a fault's answers were, in the order that they came in.
func summary(answers []answer) string {
	changes, failed := 0, 0
	var toError time.Time
	for i, a := range answers {
		if a.err != nil {
			failed++
			if toError.IsZero() {
				toError = a.told
			}
		}
		if i > 0 && (a.err == nil) != (answers[i-1].err == nil) {
			changes++
		}
	}
	switch {
	case failed == 0:
		return "the value"
	case failed == len(answers):
		return "an error"
	case changes == 1 && answers[0].err == nil:
		return fmt.Sprintf("the last value for %s, then an error", round(toError.Sub(answers[0].asked)))
	default:
		return fmt.Sprintf("the value, or an error (%d of %d polls)", failed, len(answers))
	}
}

// round is a time as people read it.
func round(d time.Duration) string {
	switch {
	case d <= 0:
		return "at once"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}
