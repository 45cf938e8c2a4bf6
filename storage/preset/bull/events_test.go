package bull_test

import (
	"context"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/bull"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// sink passes on what a Watch tells.
type sink struct {
	signals chan string
	modes   chan driver.Mode
}

func (s sink) Signal(queue string)             { s.signals <- queue }
func (s sink) Push(mode driver.Mode, _ string) { s.modes <- mode }

// watch starts a Watch, and ends it with the test.
func watch(t *testing.T, engine driver.Watcher) sink {
	t.Helper()
	s := sink{make(chan string, 1000), make(chan driver.Mode, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- engine.Watch(ctx, s) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// await takes what is told until it is the wanted.
func await[T comparable](t *testing.T, told <-chan T, want T) {
	t.Helper()
	for timeout := time.After(30 * time.Second); ; {
		select {
		case got := <-told:
			if got == want {
				return
			}
		case <-timeout:
			t.Fatalf("not told within 30 s: %v", want)
		}
	}
}

func TestBullsChannelsTellWhereTrackingIsRefused(t *testing.T) {
	server := storagetest.StartRedis(t)
	url := redistest.User(t, server)
	server.Do(t, "ACL", "SETUSER", "leadsman", "-client|tracking",
		"&bull:inserted:waiting@*", "&bull:scheduled:waiting@*", "&bull:inserted:delayed", "&bull:scheduled:delayed")
	f, engine := newFixture(t, server), redistest.Open(t, bull.Preset.Redis, driver.RedisOptions{}, url)
	told := watch(t, engine)
	await(t, told.modes, driver.ModeEvents)
	for queue, change := range map[string]func(queue string){
		"inserted":  func(queue string) { f.Insert(queue, 1) },
		"scheduled": func(queue string) { f.Schedule(queue, 1, time.Hour) },
	} {
		redistest.ReadQueue(t, engine, queue)
		await(t, told.signals, queue) // for what was missed
		change(queue)
		await(t, told.signals, queue)
	}
}
