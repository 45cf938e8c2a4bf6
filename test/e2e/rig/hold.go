package rig

import (
	"context"
	"sync"
	"testing"

	"github.com/hibiken/asynq"
)

// A hold keeps jobs running that a worker has claimed.
type hold struct {
	claimed chan struct{} // one for each
	open    chan struct{} // closed to let them be done
}

func newHold(n int) *hold { return &hold{claimed: make(chan struct{}, n), open: make(chan struct{})} }

// run is a job that takes until it is let go.
func (h *hold) run(ctx context.Context) error {
	select {
	case h.claimed <- struct{}{}:
	case <-h.open: // it is one more, for a worker that has been let go
	}
	select {
	case <-h.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await waits until all are claimed.
func (h *hold) await(tb testing.TB) {
	tb.Helper()
	Eventually(tb, startTimeout, "the worker has claimed all jobs", func() bool { return len(h.claimed) == cap(h.claimed) })
}

// Hold runs workers that claim n jobs of a queue and are busy with them until release is called, which returns when the jobs
// are done and the workers gone. The end of the test releases them at the latest.
func (a *RiverApp) Hold(queue string, n int) (release func()) {
	a.tb.Helper()
	h := newHold(n)
	stop := a.workers(context.WithoutCancel(a.tb.Context()), queue, n, h.run)
	release = sync.OnceFunc(func() {
		close(h.open)
		stop()
	})
	a.tb.Cleanup(release)
	h.await(a.tb)
	return release
}

// Hold is HoldOf the queue mail.
func (a *AsynqApp) Hold(n int) (release func()) {
	a.tb.Helper()
	return a.HoldOf("mail", n)
}

// HoldOf runs a worker that claims n tasks of a queue and is busy with them until release is called, which returns when the
// tasks are done and the worker gone. The end of the test releases them at the latest.
func (a *AsynqApp) HoldOf(queue string, n int) (release func()) {
	a.tb.Helper()
	h := newHold(n)
	worker := asynq.NewServer(a.redis, asynq.Config{
		Concurrency: n, Queues: map[string]int{queue: 1}, LogLevel: asynq.FatalLevel,
	})
	handler := asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error { return h.run(ctx) })
	if err := worker.Start(handler); err != nil {
		a.tb.Fatal(err)
	}
	release = sync.OnceFunc(func() {
		close(h.open)
		worker.Shutdown()
	})
	a.tb.Cleanup(release)
	h.await(a.tb)
	return release
}
