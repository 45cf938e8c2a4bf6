// Package bulltest is what the tests of the presets for Bull and BullMQ have in common beyond redistest: the fixture that
// writes with the libraries themselves ([Library]), and the forms in which both write their jobs. It is imported by tests
// only.
package bulltest

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// A Library is a storagetest.Fixture that writes with Bull or BullMQ itself.
type Library struct{ storagetest.LibraryFixture }

// Open opens a library, which program drives, as storagetest.OpenLibraryFixture does.
func Open(tb testing.TB, server *storagetest.RedisServer, program string, open map[string]any) Library {
	tb.Helper()
	return Library{storagetest.OpenLibraryFixture(tb, server, storagetest.Node(tb, program), open)}
}

// Orphan implements storagetest.Fixture, whatever the age: the jobs stay active until another worker takes them up.
func (l Library) Orphan(queue string, n int, _ time.Duration) {
	l.TB.Helper()
	l.Run(queue, n)
	l.Abandon(queue)
}

// Fail implements storagetest.Fixture. Where the time is to have passed, it is written over.
func (l Library) Fail(queue string, n int, in time.Duration) {
	l.TB.Helper()
	if in >= 0 {
		l.LibraryFixture.Fail(queue, n, in)
		return
	}
	l.LibraryFixture.Fail(queue, n, 1000*time.Hour)
	key := "bull:" + queue + ":delayed"
	ids, err := l.Server.Do(l.TB, "ZRANGEBYSCORE", key, score(500*time.Hour), "+inf").AsStrSlice()
	if err != nil || len(ids) != n {
		l.TB.Fatalf("of %d failed jobs %q are delayed (%v)", n, ids, err)
	}
	for _, id := range ids {
		l.Server.Do(l.TB, "ZADD", key, "XX", score(in), id)
	}
}

// Snooze implements storagetest.Fixture. A job that wants to be run again later fails.
func (l Library) Snooze(queue string, n int, in time.Duration) {
	l.TB.Helper()
	l.Fail(queue, n, in)
}

// score is that of a job which is due after in.
func score(in time.Duration) string {
	return strconv.FormatInt(time.Now().Add(in).UnixMilli()*4096, 10)
}

// Millis writes a time as the libraries do in a job's hash.
func Millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// Hash is the fields and values of a job's hash, as HSET takes them: those of the first map, but for what the second has.
func Hash(usual, other map[string]string) []string {
	all := maps.Clone(usual)
	maps.Copy(all, other)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name, all[name])
	}
	return out
}
