package chain

import (
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// A job that is due later starts its worker when it is due, and nobody but leadsman is there to see to it: libraries have their
// workers promote such jobs, and there are none. With lookahead the worker is started before, in order to be there by then. KEDA
// does not poll after it has begun: all that wakes is the push.
func TestScheduledJobStartsItsWorkerWhenItIsDue(t *testing.T) {
	t.Parallel()
	// River notifies nobody of a job that is due later: leadsman finds it when it looks anyway, each 10 s.
	const soon, later, lookahead = rig.Resync, 3 * rig.Resync, 2 * rig.Resync
	for library, open := range map[string]func(*testing.T) (source string, schedule func(queue string, in time.Duration) (due time.Time)){
		"River": func(t *testing.T) (string, func(string, time.Duration) time.Time) {
			app := rig.NewRiverApp(t)
			return app.Source(), func(queue string, in time.Duration) time.Time {
				due := time.Now().Add(in)
				app.Schedule(queue, in)
				return due
			}
		},
		"Asynq": func(t *testing.T) (string, func(string, time.Duration) time.Time) {
			app := rig.NewAsynqApp(t)
			return app.Source(), func(queue string, in time.Duration) time.Time {
				due := time.Now().Add(in).Truncate(time.Second) // it keeps whole seconds
				app.Enqueue(asynq.Queue(queue), asynq.ProcessAt(due))
				return due
			}
		},
	} {
		t.Run(library, func(t *testing.T) {
			t.Parallel()
			source, schedule := open(t)
			r := install(t, source)
			punctual := newWorker(t)
			early := newWorkerIn(t, punctual.name.Namespace, "early")
			punctual.scaled(r, spec{"queue": "mail", "poll": never})
			early.scaled(r, spec{"queue": "bill", "poll": never, "lookahead": lookahead.String()})
			punctual.ready()
			early.ready()

			due, dueLater := schedule("mail", soon), schedule("bill", later)
			punctual.starts(due, due.Add(allowed))
			early.starts(dueLater.Add(-lookahead), dueLater)
		})
	}
}

// starts waits for the first replica, and expects it not before one time and before another.
func (w *worker) starts(from, before time.Time) {
	w.t.Helper()
	w.becomes(1)
	at := time.Now()
	w.t.Logf("%s was started %v after the earliest time", w.name.Name, at.Sub(from).Round(time.Millisecond))
	if at.Before(from) || !at.Before(before) {
		w.t.Errorf("%s was started at %v, want it from %v on and before %v", w.name.Name, at, from, before)
	}
}
