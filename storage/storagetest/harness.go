package storagetest

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
)

// A Harness is one engine with one preset, to be held against the contracts by [Run].
type Harness struct {
	// Open makes an empty store and returns a Reader of it and a Fixture that writes to it. Run calls it for
	// each test and closes the Reader; what else Open makes it leaves to t.Cleanup.
	Open func(t *testing.T) (driver.Reader, Fixture)
	// OpenBare returns a Reader of a store that holds nothing, not even the job library's tables; nil when
	// there is no such store.
	OpenBare func(t *testing.T) driver.Reader
	// Abilities says what the engine and the job library can do. What is not declared is not tested.
	Abilities Abilities
}

// Abilities is what differs between engines and job libraries.
type Abilities struct {
	// Push is the mode that the engine's Watcher reports when all is well; "" when it is no Watcher.
	Push driver.Mode
	// Everything is set when the source can list its queues (a Want of every queue).
	Everything bool
	// Lookahead is set when jobs that are due soon can count as ready.
	Lookahead bool
	// Paused is set when a queue can be paused, and that can be read.
	Paused bool
	// Retries is set when failed and snoozed jobs wait for another try.
	Retries bool
	// Undated is set when jobs can wait for later and the source does not tell until when.
	Undated bool
	// Immediate is set when no job waits for later in the store. How long the others have been waiting is for the preset's
	// own tests then.
	Immediate bool
	// FoldsNames is set when the library does not tell all names apart. What it does with odd ones is for the
	// preset's own tests.
	FoldsNames bool
	// Armed is set when the Watcher tells of a queue only after a Read of it, once for each.
	Armed bool
	// Exact is set when counts cost nothing, and no Limit bounds them.
	Exact bool
	// Orphans is set when running jobs stop counting after some time (less than 40 days) without a worker.
	Orphans bool
}

// A Fixture writes jobs as the job library does in the field. Its methods return when what they did is
// committed, and fail the test when they cannot do it.
//
// Pause, Run, Fail, Snooze and Finish work the queue with a real worker where the library has one. It takes what
// it finds: call them before Insert and Schedule for the same queue.
type Fixture interface {
	// Insert adds n jobs that a worker could start at once. The name may be any; where the library accepts only
	// some, other names are written as its peers in other languages would.
	Insert(queue string, n int)
	// Schedule adds n jobs that are due after in. They are not promoted when that passes; a negative in makes
	// them due already.
	Schedule(queue string, n int, in time.Duration)
	// Pause makes the library hand out no jobs of the queue.
	Pause(queue string)
	// Run adds n jobs and lets workers claim them, which hold them until the test ends.
	Run(queue string, n int)
	// Orphan adds n jobs that were claimed age ago by workers that never came back.
	Orphan(queue string, n int, age time.Duration)
	// Fail adds n jobs and lets them fail; they are due again after in. A negative in makes that past, and the
	// jobs not promoted.
	Fail(queue string, n int, in time.Duration)
	// Snooze adds n jobs that put themselves off when they are run; they are due again after in.
	Snooze(queue string, n int, in time.Duration)
	// Cancel adds n jobs and cancels them.
	Cancel(queue string, n int)
	// Finish adds n jobs and lets workers complete them.
	Finish(queue string, n int)
}
