package storagetest

import (
	"maps"
	"testing"
	"time"
)

// A Library is a job library with its queues in Redis, as a program of test/libraries drives it. The programs know the same
// commands, which its methods are, and some of their own, which are for Call; each says at its top what they are.
//
// Its methods return when what they did is in Redis, and fail the test when they cannot do it.
type Library struct {
	tb      testing.TB
	program *Producer
	id      int // by which the program knows it
}

// OpenLibrary opens the library as the program's open has it, and closes it when the test ends. Call it after StartRedis:
// what is closed after its server is gone waits for it in vain.
func OpenLibrary(tb testing.TB, program *Producer, open map[string]any) *Library {
	tb.Helper()
	l := &Library{tb: tb, program: program, id: Call[int](tb, program, "open", open)}
	tb.Cleanup(func() { l.Do("close", nil) })
	return l
}

// A Report is what a library itself says of a queue.
type Report struct {
	Counts  map[string]int // by the library's names
	Paused  bool           // the queue is; false where the library cannot pause
	Workers int            // that the library knows of, of this queue where it tells
	Latency float64        // of the job that waits longest, in seconds; 0 where it does not tell
}

// Do sends a command and waits until it is done.
func (l *Library) Do(command string, args map[string]any) {
	l.tb.Helper()
	Ask[any](l, command, args)
}

// Ask sends a command and returns its answer in the form of T.
func Ask[T any](l *Library, command string, args map[string]any) T {
	l.tb.Helper()
	all := map[string]any{"id": l.id}
	maps.Copy(all, args)
	return Call[T](l.tb, l.program, command, all)
}

// Enqueue adds n jobs that a worker could start at once, and returns their ids. job is the library's own options for
// them, as the program has them; nil for none.
func (l *Library) Enqueue(queue string, n int, job map[string]any) []string {
	l.tb.Helper()
	args := map[string]any{"queue": queue, "n": n}
	if job != nil {
		args["job"] = job
	}
	return Ask[[]string](l, "enqueue", args)
}

// Schedule adds n jobs that are due after in, and returns their ids. A negative in makes them due and not promoted.
func (l *Library) Schedule(queue string, n int, in time.Duration) []string {
	l.tb.Helper()
	return Ask[[]string](l, "schedule", map[string]any{"queue": queue, "n": n, "after": in.Seconds()})
}

// Start lets a worker claim n jobs that wait, and hold them.
func (l *Library) Start(queue string, n int) {
	l.tb.Helper()
	l.Do("start", map[string]any{"queue": queue, "n": n})
}

// Finish lets the jobs complete that are held, and ends their workers.
func (l *Library) Finish(queue string) { l.tb.Helper(); l.on("finish", queue) }

// Fail lets the jobs fail that are held, to be tried again after in, and ends their workers.
func (l *Library) Fail(queue string, in time.Duration) {
	l.tb.Helper()
	l.Do("fail", map[string]any{"queue": queue, "after": in.Seconds()})
}

// FailForGood lets the jobs fail that are held, never to be tried again, and ends their workers.
func (l *Library) FailForGood(queue string) { l.tb.Helper(); l.on("fail", queue) }

// Abandon ends the workers as a crash does: the jobs that they hold are nobody's.
func (l *Library) Abandon(queue string) { l.tb.Helper(); l.on("abandon", queue) }

// Pause makes the library hand out no jobs of the queue.
func (l *Library) Pause(queue string) { l.tb.Helper(); l.on("pause", queue) }

// Resume ends Pause.
func (l *Library) Resume(queue string) { l.tb.Helper(); l.on("resume", queue) }

func (l *Library) on(command, queue string) {
	l.tb.Helper()
	l.Do(command, map[string]any{"queue": queue})
}

// Report asks the library what it says of the queue.
func (l *Library) Report(queue string) Report {
	l.tb.Helper()
	return Ask[Report](l, "report", map[string]any{"queue": queue})
}
