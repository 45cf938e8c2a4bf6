//go:build libraries

package pgboss_test

import (
	"context"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
)

// signalChan is a driver.Sink that passes signals on.
type signalChan chan string

func (c signalChan) Signal(queue string)      { c <- queue }
func (c signalChan) Push(driver.Mode, string) {}

// watch starts to listen, and ends that with the test.
func watch(t *testing.T, e *postgres.Engine) signalChan {
	t.Helper()
	signals, ended := make(signalChan, 100), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- e.Watch(ctx, signals) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	signals.await(t, "") // it listens
	return signals
}

// await takes signals until one names the queue.
func (c signalChan) await(t *testing.T, queue string) {
	t.Helper()
	for timeout := time.After(30 * time.Second); ; {
		select {
		case got := <-c:
			if got == queue {
				return
			}
		case <-timeout:
			t.Fatalf("no signal for %q", queue)
		}
	}
}
