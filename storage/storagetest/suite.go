package storagetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

// patience is how long the suite waits for what must happen; generous, for a loaded machine.
const patience = 30 * time.Second

// Run holds an engine and a preset against the contracts of driver.Reader and driver.Watcher. Each test has a
// store of its own and fails if goroutines are left when that is closed, so no test may run parallel to Run.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, test := range slices.Concat(wantTests, countTests, timeTests, failureTests, watchTests) {
		if test.needs == nil || test.needs(h) {
			t.Run(test.name, func(t *testing.T) { test.run(t, h) })
		}
	}
}

// A suiteTest is one test of the suite.
type suiteTest struct {
	name  string
	needs func(Harness) bool // nil when every engine can do it
	run   func(t *testing.T, h Harness)
}

// What tests may need.
var (
	everything = func(h Harness) bool { return h.Abilities.Everything }
	lookahead  = func(h Harness) bool { return h.Abilities.Lookahead }
	paused     = func(h Harness) bool { return h.Abilities.Paused }
	retries    = func(h Harness) bool { return h.Abilities.Retries }
	later      = func(h Harness) bool { return !h.Abilities.Immediate }
	dated      = func(h Harness) bool { return later(h) && !h.Abilities.Undated }
	exactNames = func(h Harness) bool { return !h.Abilities.FoldsNames }
	orphans    = func(h Harness) bool { return h.Abilities.Orphans }
	bounded    = func(h Harness) bool { return !h.Abilities.Exact }
	unarmed    = func(h Harness) bool { return push(h) && !h.Abilities.Armed }
	push       = func(h Harness) bool { return h.Abilities.Push != "" }
	pushOfAll  = func(h Harness) bool { return push(h) && everything(h) }
	bare       = func(h Harness) bool { return h.OpenBare != nil }
)

// A subject is an engine under test and the fixture that writes to its store.
type subject struct {
	Fixture

	t       *testing.T
	reader  driver.Reader
	watcher driver.Watcher  // reader, where it is one
	source  *storage.Source // of reader; it checks each reading against the contract
}

func open(t *testing.T, h Harness) *subject {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) }) // registered first, so it comes after all that Open left
	reader, fixture := h.Open(t)
	watcher, ok := reader.(driver.Watcher)
	s := &subject{Fixture: fixture, t: t, reader: reader, watcher: watcher, source: own(t, reader)}
	if push(h) && !ok {
		t.Fatalf("%T declares a push mode and is no driver.Watcher", reader)
	}
	return s
}

// own makes a Source of a reader and closes it when the test ends.
func own(t *testing.T, reader driver.Reader) *storage.Source {
	t.Helper()
	source, err := storage.New("suite", reader)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := source.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return source
}

// read reads the wants with a limit; 0 is exact.
func (s *subject) read(limit int64, wants ...driver.Want) driver.Reading {
	s.t.Helper()
	return s.ask(driver.Request{Wants: wants, Limit: limit})
}

func (s *subject) ask(req driver.Request) driver.Reading {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	sample, err := s.source.Read(ctx, req)
	if err != nil {
		s.t.Fatalf("Read(%+v): %v", req, err)
	}
	return sample.Reading
}

// queue reads one queue, exactly.
func (s *subject) queue(name string) driver.Queue {
	s.t.Helper()
	return s.read(0, driver.Want{Queue: name}).Queues[0]
}

// expect reads the wants, exactly, and compares the queues, in any order, but for their ages and workers. A read of
// their activity alone has to agree.
func (s *subject) expect(want []driver.Queue, wants ...driver.Want) {
	s.t.Helper()
	whole := s.read(0, wants...).Queues
	if diff := cmp.Diff(want, whole, sortQueues, uncompared, cmpopts.EquateEmpty()); diff != "" {
		s.t.Errorf("Read(%v) (-want +got):\n%s", wants, diff)
	}
	activity := s.ask(driver.Request{Wants: wants, Activity: true}).Queues
	if diff := cmp.Diff(activities(whole), activities(activity), sortQueues); diff != "" {
		s.t.Errorf("Read(%v) of activity (-whole +activity):\n%s", wants, diff)
	}
}

// activities leaves of the queues what a read of activity tells: of the next due job, only whether there is one, and
// that only where there is nothing to do.
func activities(queues []driver.Queue) []driver.Queue {
	out := make([]driver.Queue, len(queues))
	for i, q := range queues {
		out[i] = driver.Queue{Name: q.Name, Lookahead: q.Lookahead, Ready: q.Ready, Running: q.Running}
		if q.Ready == 0 && q.Running == 0 {
			out[i].NextDue = min(q.NextDue, 1)
		}
	}
	return out
}

var (
	sortQueues = cmpopts.SortSlices(func(a, b driver.Queue) bool {
		return a.Name < b.Name || a.Name == b.Name && a.Lookahead < b.Lookahead
	})
	uncompared = cmpopts.IgnoreFields(driver.Queue{}, "Oldest", "NextDue", "Pool")
)

// named makes a Want of each name.
func named(names ...string) []driver.Want {
	wants := make([]driver.Want, len(names))
	for i, name := range names {
		wants[i].Queue = name
	}
	return wants
}
