package storagetest

import (
	"maps"
	"testing"
	"time"
)

// A LibraryFixture is what Fixtures that write with a Library itself have in common. How jobs are orphaned each library
// has for itself, and whatever else it cannot do as this does.
type LibraryFixture struct {
	*Library

	TB     testing.TB
	Server *RedisServer // which has the queues
}

// OpenLibraryFixture opens the library with its queues on a server; open is what the program's open takes besides its url.
func OpenLibraryFixture(tb testing.TB, server *RedisServer, program *Producer, open map[string]any) LibraryFixture {
	tb.Helper()
	all := map[string]any{"url": server.URL()}
	maps.Copy(all, open)
	return LibraryFixture{OpenLibrary(tb, program, all), tb, server}
}

// Insert implements Fixture.
func (l LibraryFixture) Insert(queue string, n int) {
	l.TB.Helper()
	l.Enqueue(queue, n, nil)
}

// Schedule implements Fixture.
func (l LibraryFixture) Schedule(queue string, n int, in time.Duration) {
	l.TB.Helper()
	l.Library.Schedule(queue, n, in)
}

// Run implements Fixture.
func (l LibraryFixture) Run(queue string, n int) {
	l.TB.Helper()
	l.Enqueue(queue, n, nil)
	l.Start(queue, n)
}

// Fail implements Fixture.
func (l LibraryFixture) Fail(queue string, n int, in time.Duration) {
	l.TB.Helper()
	l.Run(queue, n)
	l.Library.Fail(queue, in)
}

// Snooze implements Fixture: a job that wants to be run again later fails.
func (l LibraryFixture) Snooze(queue string, n int, in time.Duration) {
	l.TB.Helper()
	l.Fail(queue, n, in)
}

// Cancel implements Fixture.
func (l LibraryFixture) Cancel(queue string, n int) {
	l.TB.Helper()
	l.Do("cancel", map[string]any{"queue": queue, "jobs": l.Enqueue(queue, n, nil)})
}

// Finish implements Fixture.
func (l LibraryFixture) Finish(queue string, n int) {
	l.TB.Helper()
	l.Run(queue, n)
	l.Library.Finish(queue)
}
