package chain

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// A worker that is busy with the last job is not taken away before it is done with it, though nothing waits.
func TestRunningJobHoldsItsWorker(t *testing.T) {
	t.Parallel()
	for library, open := range map[string]func(*testing.T) (source string, enqueue func(), hold func() (release func())){
		"River": func(t *testing.T) (string, func(), func() func()) {
			app := rig.NewRiverApp(t)
			return app.Source(), func() { app.Enqueue("mail", 1) }, func() func() { return app.Hold("mail", 1) }
		},
		"Asynq": func(t *testing.T) (string, func(), func() func()) {
			app := rig.NewAsynqApp(t)
			return app.Source(), func() { app.Enqueue() }, func() func() { return app.Hold(1) }
		},
	} {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			source, enqueue, hold := open(t)
			r := install(t, source)
			w := newWorker(t)
			// What becomes of a worker on the same queue that asks for what waits, and nothing else.
			unheld := newWorkerIn(t, w.name.Namespace, "unheld")
			w.scaled(r, spec{"metric": "outstanding"})
			unheld.scaled(r, spec{"metric": "ready", "activeWhileRunning": false})
			w.ready()
			unheld.ready()

			enqueue()
			w.becomes(1)
			unheld.becomes(1)
			seen := w.record()
			release := hold()
			unheld.becomes(0) // KEDA has polled, and the cooldown is over
			w.stays(1, 5*time.Second)
			seen.neverBelow(t, 1)
			release()
			w.becomes(0)
		})
	}
}
