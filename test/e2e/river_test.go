package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// An app is a program that uses River on PostgreSQL: it enqueues, and it can run workers.
type app struct {
	t      *testing.T
	url    string
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx] // inserts only
}

// A mail is the app's one kind of job.
type mail struct{}

// Kind implements river.JobArgs.
func (mail) Kind() string { return "mail" }

// newApp makes an app on a fresh database of its own.
func newApp(t *testing.T) *app {
	t.Helper()
	return newAppOn(t, storagetest.Postgres(t))
}

// newAppOn makes an app on an empty database.
func newAppOn(t *testing.T, url string) *app {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	a := &app{t: t, url: url, pool: pool}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: a.logger()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil); err != nil {
		t.Fatal(err)
	}
	if a.client, err = river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: a.logger()}); err != nil {
		t.Fatal(err)
	}
	return a
}

// source is a configuration with the app's database as its one source, mail.
func (a *app) source() string {
	return fmt.Sprintf("sources: {mail: {url: %q, preset: river}}\n", a.url)
}

// enqueue inserts n jobs.
func (a *app) enqueue(queue string, n int) {
	a.t.Helper()
	a.insert(n, river.InsertOpts{Queue: queue})
}

// schedule inserts a job that is due later.
func (a *app) schedule(queue string, in time.Duration) {
	a.t.Helper()
	a.insert(1, river.InsertOpts{Queue: queue, ScheduledAt: time.Now().Add(in)})
}

func (a *app) insert(n int, opts river.InsertOpts) {
	a.t.Helper()
	jobs := make([]river.InsertManyParams, n)
	for i := range jobs {
		jobs[i] = river.InsertManyParams{Args: mail{}, InsertOpts: &opts}
	}
	if _, err := a.client.InsertMany(a.t.Context(), jobs); err != nil {
		a.t.Fatal(err)
	}
}

// enqueueElsewhere inserts n jobs as River's clients for other languages do: they take any name and notify nobody.
func (a *app) enqueueElsewhere(queue string, n int) {
	a.t.Helper()
	const insert = `INSERT INTO river_job (queue, kind, args, max_attempts) SELECT $1, 'mail', '{}', 25 FROM generate_series(1, $2)`
	if _, err := a.pool.Exec(a.t.Context(), insert, queue, n); err != nil {
		a.t.Fatal(err)
	}
}

// work runs workers on a queue until all its jobs are done.
func (a *app) work(queue string) {
	a.t.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(context.Context, *river.Job[mail]) error { return nil }))
	client, err := river.NewClient(riverpgxv5.New(a.pool), &river.Config{
		Logger:            a.logger(),
		Workers:           workers,
		Queues:            map[string]river.QueueConfig{queue: {MaxWorkers: 200}},
		FetchPollInterval: 100 * time.Millisecond,
	})
	if err != nil {
		a.t.Fatal(err)
	}
	ctx := context.WithoutCancel(a.t.Context())
	if err := client.Start(ctx); err != nil {
		a.t.Fatal(err)
	}
	defer func() {
		if err := client.Stop(ctx); err != nil {
			a.t.Error(err)
		}
	}()
	eventually(a.t, 30*time.Second, "the workers have done all jobs", func() bool {
		const left = `SELECT count(*) FROM river_job WHERE queue = $1 AND finalized_at IS NULL`
		var n int
		if err := a.pool.QueryRow(ctx, left, queue).Scan(&n); err != nil {
			a.t.Fatal(err)
		}
		return n == 0
	})
}

// logger passes River's warnings on to the test.
func (a *app) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
