package storagetest

import (
	"slices"
	"testing"
)

// Run holds an engine and a preset against the contracts of driver.Reader and driver.Watcher. Each test has a
// store of its own and fails if goroutines are left when that is closed, so no test may run parallel to Run.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, test := range slices.Concat(readTests, watchTests) {
		if test.needs != nil && !test.needs(h.Abilities) {
			continue
		}
		t.Run(test.name, func(t *testing.T) { test.run(t, h) })
	}
}

// A suiteTest is one test of the suite.
type suiteTest struct {
	name  string
	needs func(Abilities) bool // nil when every engine can do it
	run   func(t *testing.T, h Harness)
}

var readTests, watchTests []suiteTest
