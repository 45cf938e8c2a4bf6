// Package driver is the seam between leadsman and the places where jobs wait.
//
// An engine (storage/postgres, storage/sqlite, storage/memory, or one of your own) implements [Reader] and,
// where it can tell that something changed without being asked, [Watcher]. Callers never hold these
// interfaces: they hold a *storage.Source, which adds the source's name, checks what the engine returns and
// classifies its errors. This package imports the standard library only, so an engine outside this module
// needs nothing else from leadsman.
package driver

import (
	"context"
	"slices"
	"time"
)

// A Reader reads the queues of one source. It never changes what it reads.
//
// Methods may be called from several goroutines. Opening a Reader does no I/O: a backend that is down shows
// as an error of Read, so that a server can start before its databases.
type Reader interface {
	// Read answers req from one instant of the backend. It blocks until it has an answer or ctx is done,
	// and must return promptly after that.
	//
	// The Reading holds exactly one Queue for each Want that names a queue, in any order, also when the
	// backend has never heard of that queue (Known is false then); for a Want of every queue it holds one
	// Queue for each queue that the backend knows. A Want that fails alone is in Failed instead.
	//
	// What could not be read is an error, never a zero: a missing table, a missing permission, a row
	// filtered by policy, a value that is no number. Return an *Error to say of which Kind; any other error
	// counts as Unavailable.
	Read(ctx context.Context, req Request) (Reading, error)

	// Close releases connections and joins goroutines. It is called once, after the last Read and Watch
	// have returned.
	Close() error
}

// A Watcher is a Reader that notices changes. The ability is optional: without it, or while its mode is
// [ModeEdgePoll], the server asks the Reader four times a second while somebody waits for a job.
//
// A Watcher may tell of a queue once, and again only after the next Read of it: whoever waits for a job reads after
// each signal.
type Watcher interface {
	// Watch reports to sink until ctx is done and then returns nil. It connects and reconnects by itself,
	// with backoff, and signals every queue ("") after each reconnect, for what was missed meanwhile. It
	// returns an error before that only when watching can never work; the server then edge-polls.
	Watch(ctx context.Context, sink Sink) error
}

// A Sink takes what a Watcher notices. Its methods never block and may be called from any goroutine.
type Sink interface {
	// Signal says that the named queue may have changed; "" says that any may have. A signal is a hint:
	// it may be doubled, late or wrong, and the server samples before it believes.
	Signal(queue string)
	// Push says how changes are noticed from now on, and why if that is less than the best way. reason is
	// shown to people and holds no secret.
	Push(mode Mode, reason string)
}

// Mode is how a source's changes are noticed.
type Mode string

// The modes in force anywhere in leadsman.
const (
	ModeListen   Mode = "listen"      // PostgreSQL LISTEN on the library's own channel
	ModeBell     Mode = "armed bell"  // PostgreSQL: a trigger that notifies while leadsman waits (Bell)
	ModeTracking Mode = "tracking"    // Redis: CLIENT TRACKING of what was read last
	ModeEvents   Mode = "events"      // Redis: the library's own announcements
	ModeKeyspace Mode = "keyspace"    // Redis: keyspace notifications
	ModeFile     Mode = "file events" // SQLite: file events and the change counter
	ModeDirect   Mode = "direct"      // the source lives in this process
	ModeEdgePoll Mode = "edge poll"   // nothing tells: cheap reads, four a second, while a stream is inactive
)

// A Request is what one read is to find out.
type Request struct {
	// Wants holds at least one Want; no two are equal.
	Wants []Want
	// Limit bounds each count of each queue: a count that would be greater is returned as Limit, with
	// Saturated set. 0 means exact counts, however long they take. A Reader that counts at no cost ignores it.
	Limit int64
	// Activity says that of each queue only Ready, Running and, where both are 0, NextDue are needed, by somebody
	// who waits for a job. A Reader that is quicker so may leave the other fields zero, and set Saturated for a
	// count that is just Limit; the others ignore it.
	Activity bool
}

// Brief tells whether a [SQL] preset's Activity query answers r.
func (r Request) Brief() bool {
	return r.Activity && !slices.ContainsFunc(r.Wants, func(w Want) bool { return w.Queue == "" })
}

// A Want is one queue seen with one lookahead.
type Want struct {
	// Queue is a name, byte for byte as the library stores it; "" means every queue the backend knows.
	Queue string
	// Lookahead makes jobs due within it count as ready rather than scheduled; 0 is the usual.
	Lookahead time.Duration
}

// A Reading is what one Read saw.
type Reading struct {
	// Now is the backend's clock at the read, the only clock that decides what is due.
	Now    time.Time
	Queues []Queue
	// Failed says of some Wants why they alone could not be read, such as a key of another type. They have no Queue.
	Failed map[Want]error
	// Notes are things a person should know about the source that are no errors, such as a WAL on a network
	// file system. They hold no secret.
	Notes []string
}

// A Queue is one queue at the instant of a Reading.
type Queue struct {
	Name string
	// Lookahead is the Want's.
	Lookahead time.Duration
	// Known is false when the backend holds no trace of a queue of this name.
	Known bool
	// Ready counts jobs that a worker could start now (within Lookahead), including due jobs that the
	// library has not promoted yet, and excluding those of a paused queue.
	Ready int64
	// Running counts jobs that a worker has claimed, bounded by age or heartbeat so that orphans do not count.
	Running int64
	// Scheduled counts jobs due later than Lookahead from now.
	Scheduled int64
	// Saturated is set when a count reached the Request's Limit and may be greater in truth.
	Saturated bool
	// Oldest is how long the oldest ready job has been waiting since it became ready; 0 when none is.
	Oldest time.Duration
	// NextDue is how long after Now the first scheduled job is due; 0 when there is none.
	NextDue time.Duration
	// Paused is set when the library hands out no jobs of this queue.
	Paused bool
	// Pool is the queue's workers; nil when the library keeps no registry of them.
	Pool *Pool
}

// A Pool is the workers that serve a queue.
type Pool struct {
	Workers  int64 // live processes
	Capacity int64 // jobs they can run at once
}
