package chain

import (
	"strings"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// shows waits until `kubectl get scaledobject` has a value in a column.
func (w *worker) shows(column, value string) {
	w.t.Helper()
	var table string
	defer func() {
		if w.t.Failed() {
			w.t.Log("kubectl get scaledobject says:\n" + table)
		}
	}()
	rig.Eventually(w.t, settled, "kubectl get shows "+column+" = "+value, func() bool {
		table = kube.Kubectl(w.t, nil, "get", "scaledobject", w.name.Name, "--namespace", w.name.Namespace)
		head, row, _ := strings.Cut(table, "\n")
		at := strings.Index(head, column)
		return at >= 0 && at < len(row) && strings.HasPrefix(row[at:], value+" ")
	})
}

// tells waits until `kubectl describe scaledobject` says all of some words in one line, and returns all that it says.
func (w *worker) tells(words ...string) string {
	w.t.Helper()
	var text string
	defer func() {
		if w.t.Failed() {
			w.t.Log("kubectl describe scaledobject says:\n" + text)
		}
	}()
	rig.Eventually(w.t, settled, "kubectl describe tells "+strings.Join(words, " … "), func() bool {
		text = kube.Kubectl(w.t, nil, "describe", "scaledobject", w.name.Name, "--namespace", w.name.Namespace)
		for line := range strings.Lines(text) {
			if containsAll(line, words) {
				return true
			}
		}
		return false
	})
	return text
}

func containsAll(line string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(line, word) {
			return false
		}
	}
	return true
}
