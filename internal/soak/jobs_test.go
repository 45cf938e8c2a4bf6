package soak

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// jobEvery is how often each library gets a job.
const jobEvery = 50 * time.Millisecond

// jobTakes is how long it runs.
const jobTakes = 20 * time.Millisecond

// A job does nothing for a moment.
type job struct{}

// Kind implements river.JobArgs.
func (job) Kind() string { return "soak" }

// A riverWorker runs jobs.
type riverWorker struct {
	river.WorkerDefaults[job]

	tally *tally
}

// Work implements river.Worker.
func (w *riverWorker) Work(ctx context.Context, _ *river.Job[job]) error {
	pause(ctx, jobTakes)
	w.tally.done.Add(1)
	return nil
}

// newRiver starts a client of River that works the queues, until the test ends.
func newRiver(t *testing.T, s *stage, count *tally) *river.Client[pgx.Tx] {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), s.database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{tally: count})
	served := map[string]river.QueueConfig{}
	for i := range queues {
		served[queueOf(riverSource, i)] = river.QueueConfig{MaxWorkers: 4}
	}
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		Queues: served, Workers: workers,
		CompletedJobRetentionPeriod: time.Minute, // the table has to stay flat, too
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), startTimeout)
		defer cancel()
		if err := client.Stop(ctx); err != nil {
			t.Errorf("stop River: %v", err)
		}
	})
	return client
}

// riverJobs enqueues, mostly where workers wait. Some jobs are of queues that nobody has seen before, and are deleted.
func riverJobs(ctx context.Context, t *tally, client *river.Client[pgx.Tx]) {
	i := 0
	every(ctx, jobEvery, func() {
		i++
		queue := queueOf(riverSource, i)
		if i%20 == 0 {
			queue = fmt.Sprintf("mail-once-%d", i)
		}
		inserted, err := client.Insert(ctx, job{}, &river.InsertOpts{Queue: queue})
		if err == nil && i%20 == 0 {
			_, err = client.JobDelete(ctx, inserted.Job.ID)
		}
		t.enqueued(ctx, "river", err)
	})
}

// newAsynq starts a server of Asynq that works the queues, until the test ends.
func newAsynq(t *testing.T, s *stage, count *tally) *asynq.Client {
	t.Helper()
	redis := asynq.RedisClientOpt{Addr: s.redis.Addr()}
	served := map[string]int{}
	for i := range queues {
		served[queueOf(asynqSource, i)] = 1
	}
	server := asynq.NewServer(redis, asynq.Config{Queues: served, Concurrency: 8, LogLevel: asynq.FatalLevel, TaskCheckInterval: 100 * time.Millisecond})
	if err := server.Start(asynq.HandlerFunc(func(ctx context.Context, _ *asynq.Task) error {
		pause(ctx, jobTakes)
		count.done.Add(1)
		return nil
	})); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	client := asynq.NewClient(redis)
	t.Cleanup(func() { closeAll(t, client) })
	return client
}

// asynqJobs enqueues where servers wait.
func asynqJobs(ctx context.Context, t *tally, client *asynq.Client) {
	i := 0
	every(ctx, jobEvery, func() {
		i++
		_, err := client.EnqueueContext(ctx, asynq.NewTask("soak", nil), asynq.Queue(queueOf(asynqSource, i)))
		t.enqueued(ctx, "asynq", err)
	})
}

func (t *tally) enqueued(ctx context.Context, library string, err error) {
	switch {
	case err == nil:
		t.jobs.Add(1)
	case ctx.Err() == nil:
		t.oddf("enqueue with %s: %v", library, err)
	}
}

func closeAll(t *testing.T, all ...io.Closer) {
	t.Helper()
	for _, c := range all {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
