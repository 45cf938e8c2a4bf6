package chain

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// With idle: 0, the first job starts as many as there are at least, and the last one ends them, each in one step.
func TestIdleWorkersStartAndEndTogether(t *testing.T) {
	t.Parallel()
	app := rig.NewRiverApp(t)
	w := newWorker(t)
	h := w.record()
	w.scaled(install(t, app.Source()), spec{"target": 10, "idle": 0, "min": 3})
	w.ready()

	app.Enqueue("mail", 1)
	w.becomes(3)
	app.Enqueue("mail", 34)
	w.becomes(4)
	app.Work("mail")
	w.becomes(0)
	rig.Eventually(t, settled, "the watch has seen the end", func() bool {
		numbers := h.numbers()
		return numbers[len(numbers)-1] == 0
	})
	numbers := h.numbers()
	if diff := cmp.Diff([]int32{0, 3, 4}, numbers[:min(3, len(numbers))]); diff != "" {
		t.Errorf("the first numbers of replicas (-want +got):\n%s", diff)
	}
	if slices.Contains(numbers, 1) || slices.Contains(numbers, 2) {
		t.Errorf("numbers of replicas = %d, want none between 0 and 3", numbers)
	}
}
