package peers

import (
	"testing"

	"github.com/prometheus/procfs"
)

// processTree is a process with its children, as a PostgreSQL server is one.
func processTree(t *testing.T, root int) []int {
	t.Helper()
	all, err := procfs.AllProcs()
	if err != nil {
		t.Fatal(err)
	}
	tree := []int{root}
	for _, process := range all {
		if stat, err := process.Stat(); err == nil && stat.PPID == root { // others may have ended by now
			tree = append(tree, stat.PID)
		}
	}
	return tree
}

// processorTime is how many seconds processes have computed so far, and children of theirs that have ended.
func processorTime(t *testing.T, processes ...int) (seconds float64) {
	t.Helper()
	const tick = 100 // Linux counts in hundredths of a second
	for _, pid := range processes {
		process, err := procfs.NewProc(pid)
		if err != nil {
			t.Fatal(err)
		}
		stat, err := process.Stat()
		if err != nil {
			t.Fatal(err)
		}
		seconds += float64(int(stat.UTime)+int(stat.STime)+stat.CUTime+stat.CSTime) / tick
	}
	return seconds
}
