package memory_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/memory"
	"github.com/leadsman/leadsman/storage/storagetest"
)

func TestStoreKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, storagetest.Harness{
		Open: func(*testing.T) (driver.Reader, storagetest.Fixture) {
			s := memory.New()
			return s, fixture{s}
		},
		Abilities: storagetest.Abilities{
			Push: driver.ModeDirect, Everything: true, Lookahead: true, Paused: true, Retries: true,
		},
	})
}

// A fixture drives a Store as a program that embeds leadsman would.
type fixture struct{ store *memory.Store }

func (f fixture) Insert(queue string, n int) { f.store.Enqueue(queue, int64(n)) }

func (f fixture) Schedule(queue string, n int, in time.Duration) {
	f.store.Schedule(queue, int64(n), in)
}

func (f fixture) Pause(queue string) { f.store.Pause(queue, true) }

func (f fixture) Run(queue string, n int) {
	f.Insert(queue, n)
	f.store.Claim(queue, int64(n))
}

func (f fixture) Fail(queue string, n int, in time.Duration) {
	f.Finish(queue, n)
	f.Schedule(queue, n, in)
}

func (f fixture) Snooze(queue string, n int, in time.Duration) { f.Fail(queue, n, in) }

func (f fixture) Cancel(queue string, n int) {
	f.Insert(queue, n)
	f.store.Discard(queue)
}

func (f fixture) Finish(queue string, n int) {
	f.Run(queue, n)
	f.store.Finish(queue, int64(n))
}

// Orphan is never called: a Store forgets claims only when told.
func (f fixture) Orphan(string, int, time.Duration) { panic("memory has no orphans") }
