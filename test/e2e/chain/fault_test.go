package chain

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// never is a polling interval that no test lives to see the end of: KEDA polls once, when it begins with a ScaledObject, and
// what wakes then is the push.
const never = "1h"

const (
	// goal is how soon after a recovery a worker is to be started on a machine with nothing else to do.
	goal = 3 * time.Second
	// allowed is what a loaded machine may take.
	allowed = 5 * goal
)

// backlog is how many jobs the busy worker of a site has, and busy how many replicas they are worth.
const (
	backlog = 30
	busy    = 3
)

// A site is a namespace in which faults are looked at: a worker whose queue, mail, has a backlog, and idle ones, each for one
// fault, in which a job for it is enqueued.
type site struct {
	t    *testing.T
	busy *worker
	seen *history  // the busy worker's replicas from when there were enough
	idle []*worker // number i has the queue idle-i
	next int       // the idle worker that has not been woken yet
}

// newSite makes a site for a number of faults. The backlog has to be there.
func newSite(t *testing.T, r *release, faults int) *site {
	t.Helper()
	s := &site{t: t, busy: newWorker(t)}
	s.busy.scaled(r, spec{"target": backlog / busy})
	for i := range faults {
		w := newWorkerIn(t, s.busy.name.Namespace, idleQueue(i))
		w.scaled(r, spec{"queue": idleQueue(i), "poll": never})
		s.idle = append(s.idle, w)
	}
	s.busy.ready()
	s.busy.becomes(busy)
	s.seen = s.busy.record()
	for _, w := range s.idle {
		w.ready()
	}
	return s
}

func idleQueue(i int) string { return fmt.Sprintf("idle-%d", i) }

// queue is that of the idle worker for the next fault.
func (s *site) queue() string { return idleQueue(s.next) }

// wakes expects the idle worker to be started soon after the recovery from a fault in which a job of its was enqueued, and that
// the busy one has kept its replicas all the time.
func (s *site) wakes(fault string, recovered time.Time) {
	s.t.Helper()
	w := s.idle[s.next]
	s.next++
	w.becomes(1)
	took := time.Since(recovered).Round(time.Millisecond)
	s.t.Logf("%s: the worker was started %v after it", fault, took)
	if took > goal {
		s.t.Logf("SLOW: %s: %v is more than %v", fault, took, goal)
	}
	if took > allowed {
		s.t.Errorf("%s: the worker was started after %v, want %v at the most", fault, took, allowed)
	}
	s.seen.neverBelow(s.t, busy)
}

// calm expects that nothing comes after the faults: KEDA polls well, and the busy worker has what it had.
func (s *site) calm() {
	s.t.Helper()
	rig.Eventually(s.t, settled, "KEDA's polls succeed", s.busy.happy)
	s.busy.stays(busy, 5*time.Second)
	s.seen.neverBelow(s.t, busy)
}

// happy tells whether KEDA got an answer at its last poll of each trigger, and failing whether it did not at one of them.
func (w *worker) happy() bool {
	health := w.object().Status.Health
	for _, trigger := range health {
		if *trigger.NumberOfFailures > 0 {
			return false
		}
	}
	return len(health) > 0
}

func (w *worker) failing() bool {
	for _, trigger := range w.object().Status.Health {
		if *trigger.NumberOfFailures > 0 {
			return true
		}
	}
	return false
}

// neverBelow fails if the worker was to have fewer replicas at any time that was recorded.
func (h *history) neverBelow(t *testing.T, least int32) {
	t.Helper()
	if seen := h.numbers(); len(seen) == 0 || slices.Min(seen) < least {
		t.Fatalf("numbers of replicas: %v, want none below %d", seen, least)
	}
}
