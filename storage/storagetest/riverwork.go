package storagetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// workTimeout bounds the waiting for a worker; generous, for a loaded machine and the race detector.
const workTimeout = 60 * time.Second

// jobArgs is the fixture's only kind of job. Do says what working it does; "" completes it.
type jobArgs struct {
	Do string        `json:"do,omitempty"`
	In time.Duration `json:"in,omitempty"` // when it is due again, for fail and snooze
}

const (
	doHold   = "hold"
	doFail   = "fail"
	doSnooze = "snooze"
)

// Kind implements river.JobArgs.
func (jobArgs) Kind() string { return "storagetest" }

// A worker works jobArgs.
type worker struct {
	river.WorkerDefaults[jobArgs]

	held    chan struct{} // takes one token for each job that is held
	release chan struct{} // closed to let held jobs go
}

// Work implements river.Worker.
func (w *worker) Work(_ context.Context, job *river.Job[jobArgs]) error {
	switch job.Args.Do {
	case doHold:
		w.held <- struct{}{}
		<-w.release
	case doFail:
		return errors.New("failed on purpose")
	case doSnooze:
		return river.JobSnooze(job.Args.In)
	}
	return nil
}

// NextRetry implements river.Worker.
func (w *worker) NextRetry(job *river.Job[jobArgs]) time.Time { return time.Now().Add(job.Args.In) }

// Timeout implements river.Worker: none.
func (w *worker) Timeout(*river.Job[jobArgs]) time.Duration { return -1 }

// A crew is a River client that works one queue.
type crew struct {
	*worker

	done <-chan *river.Event // one event for each job that ended
	stop func()              // idempotent; returns when all is stopped
}

// work starts a crew that runs up to size jobs of the queue at once, and stops it when the test ends.
func (f *River[TTx]) work(queue string, size int) *crew {
	f.tb.Helper()
	c := &crew{worker: &worker{held: make(chan struct{}, size), release: make(chan struct{})}}
	workers := river.NewWorkers()
	river.AddWorker(workers, c.worker)
	client, err := river.NewClient(f.driver, &river.Config{
		Logger:            f.logger(),
		Schema:            f.schema,
		Queues:            map[string]river.QueueConfig{queue: {MaxWorkers: size}},
		Workers:           workers,
		FetchPollInterval: 100 * time.Millisecond,
		// Nobody is to rescue the orphans, or to promote what is due: those are the fixture's point.
		LeaderElectionDisabled: true,
	})
	f.must(err)
	done, unsubscribe := client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: 10_000,
		Kinds:    []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed, river.EventKindJobSnoozed},
	})
	c.done = done
	f.must(client.Start(context.WithoutCancel(f.tb.Context())))
	c.stop = sync.OnceFunc(func() {
		unsubscribe()
		close(c.release)
		ctx, cancel := context.WithTimeout(context.Background(), workTimeout)
		defer cancel()
		if err := client.Stop(ctx); err != nil {
			f.tb.Errorf("stop River's workers: %v", err)
		}
	})
	f.tb.Cleanup(c.stop)
	return c
}

// await receives n times from a channel of a crew.
func await[T any](f interface{ must(error) }, n int, from <-chan T) {
	timeout := time.After(workTimeout)
	for i := range n {
		select {
		case <-from:
		case <-timeout:
			f.must(fmt.Errorf("only %d of %d jobs were worked within %s", i, n, workTimeout))
		}
	}
}

// Run implements Fixture.
func (f *River[TTx]) Run(queue string, n int) {
	f.tb.Helper()
	f.hold(queue, n)
}

// hold lets a crew claim n jobs and returns their ids.
func (f *River[TTx]) hold(queue string, n int) []int64 {
	f.tb.Helper()
	ids := f.insert(n, jobArgs{Do: doHold}, river.InsertOpts{Queue: queue})
	await(f, n, f.work(queue, n).held)
	return ids
}

// Orphan implements Fixture: the jobs are claimed in truth, and then their claim is made old.
func (f *River[TTx]) Orphan(queue string, n int, age time.Duration) {
	f.tb.Helper()
	claimed := time.Now().Add(-age)
	for _, id := range f.hold(queue, n) {
		_, err := f.driver.GetExecutor().JobUpdateFull(f.tb.Context(), &riverdriver.JobUpdateFullParams{
			ID: id, AttemptedAtDoUpdate: true, AttemptedAt: &claimed, Schema: f.schema,
		})
		f.must(err)
	}
}

// Fail implements Fixture. A job that is due again within seconds River makes available at once; to have one that
// was due and not promoted, as after the last worker went, its row is written.
func (f *River[TTx]) Fail(queue string, n int, in time.Duration) {
	f.tb.Helper()
	if in > 0 {
		f.perform(queue, n, jobArgs{Do: doFail, In: in})
		return
	}
	due, attempted := time.Now().Add(in), time.Now().Add(in-time.Minute)
	for i := range n {
		f.insertRow(riverdriver.JobInsertFullParams{
			Queue: queue, Priority: 1 + i%4, State: rivertype.JobStateRetryable, ScheduledAt: &due,
			Attempt: 1, AttemptedAt: &attempted, AttemptedBy: []string{"storagetest"},
			Errors: [][]byte{[]byte(`{"at":"2026-01-01T00:00:00Z","attempt":1,"error":"failed on purpose","trace":""}`)},
		})
	}
}

// Snooze implements Fixture.
func (f *River[TTx]) Snooze(queue string, n int, in time.Duration) {
	f.tb.Helper()
	f.perform(queue, n, jobArgs{Do: doSnooze, In: in})
}

// Finish implements Fixture.
func (f *River[TTx]) Finish(queue string, n int) {
	f.tb.Helper()
	f.perform(queue, n, jobArgs{})
}

// perform inserts n jobs and lets a crew work each of them once.
func (f *River[TTx]) perform(queue string, n int, args jobArgs) {
	f.tb.Helper()
	f.insert(n, args, river.InsertOpts{Queue: queue})
	c := f.work(queue, n)
	await(f, n, c.done)
	c.stop()
}
