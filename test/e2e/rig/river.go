package rig

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

// A RiverApp is a program that uses River on PostgreSQL: it enqueues, and it can run workers.
type RiverApp struct {
	tb     testing.TB
	URL    string // of its database
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx] // inserts only
}

// A mail is the app's one kind of job.
type mail struct {
	ID string `json:"id,omitempty" river:"unique"` // "" for a job that is like any other
}

// Kind implements river.JobArgs.
func (mail) Kind() string { return "mail" }

// NewRiverApp makes an app on a fresh database of its own.
func NewRiverApp(tb testing.TB) *RiverApp {
	tb.Helper()
	return NewRiverAppOn(tb, storagetest.Postgres(tb))
}

// NewRiverAppOn makes an app on an empty database.
func NewRiverAppOn(tb testing.TB, url string) *RiverApp {
	tb.Helper()
	pool, err := pgxpool.New(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	a := &RiverApp{tb: tb, URL: url, pool: pool}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: a.logger()})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := migrator.Migrate(tb.Context(), rivermigrate.DirectionUp, nil); err != nil {
		tb.Fatal(err)
	}
	if a.client, err = river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: a.logger()}); err != nil {
		tb.Fatal(err)
	}
	return a
}

// Source is a configuration with the app's database as its one source, mail.
func (a *RiverApp) Source() string {
	return fmt.Sprintf("sources: {mail: {url: %q, preset: river}}\n", a.URL)
}

// Enqueue inserts n jobs.
func (a *RiverApp) Enqueue(queue string, n int) {
	a.tb.Helper()
	a.insert(n, river.InsertOpts{Queue: queue})
}

// Schedule inserts a job that is due later.
func (a *RiverApp) Schedule(queue string, in time.Duration) {
	a.tb.Helper()
	a.insert(1, river.InsertOpts{Queue: queue, ScheduledAt: time.Now().Add(in)})
}

func (a *RiverApp) insert(n int, opts river.InsertOpts) {
	a.tb.Helper()
	jobs := make([]river.InsertManyParams, n)
	for i := range jobs {
		jobs[i] = river.InsertManyParams{Args: mail{}, InsertOpts: &opts}
	}
	if _, err := a.client.InsertMany(a.tb.Context(), jobs); err != nil {
		a.tb.Fatal(err)
	}
}

// EnqueueOnce inserts a job with an id, if there is none in the queue. After an error it may or may not be there.
func (a *RiverApp) EnqueueOnce(ctx context.Context, queue, id string) error {
	once := river.UniqueOpts{ByArgs: true, ByQueue: true}
	_, err := a.client.Insert(ctx, mail{ID: id}, &river.InsertOpts{Queue: queue, UniqueOpts: once})
	return err
}

// Discard deletes all jobs of a queue.
func (a *RiverApp) Discard(queue string) {
	a.tb.Helper()
	if _, err := a.pool.Exec(a.tb.Context(), `DELETE FROM river_job WHERE queue = $1`, queue); err != nil {
		a.tb.Fatal(err)
	}
}

// EnqueueElsewhere inserts n jobs as River's clients for other languages do: they take any name and notify nobody.
func (a *RiverApp) EnqueueElsewhere(queue string, n int) {
	a.tb.Helper()
	const insert = `INSERT INTO river_job (queue, kind, args, max_attempts) SELECT $1, 'mail', '{}', 25 FROM generate_series(1, $2)`
	if _, err := a.pool.Exec(a.tb.Context(), insert, queue, n); err != nil {
		a.tb.Fatal(err)
	}
}

// Work runs workers on a queue until all its jobs are done.
func (a *RiverApp) Work(queue string) {
	a.tb.Helper()
	ctx := context.WithoutCancel(a.tb.Context())
	stop := a.workers(ctx, queue, 200, func(context.Context) error { return nil })
	defer stop()
	Eventually(a.tb, 30*time.Second, "the workers have done all jobs", func() bool {
		const left = `SELECT count(*) FROM river_job WHERE queue = $1 AND finalized_at IS NULL`
		var n int
		if err := a.pool.QueryRow(ctx, left, queue).Scan(&n); err != nil {
			a.tb.Fatal(err)
		}
		return n == 0
	})
}

// workers starts so many workers on a queue that do each job by run, however long it takes, until stop is called.
func (a *RiverApp) workers(ctx context.Context, queue string, n int, run func(context.Context) error) (stop func()) {
	a.tb.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, _ *river.Job[mail]) error { return run(ctx) }))
	client, err := river.NewClient(riverpgxv5.New(a.pool), &river.Config{
		Logger:            a.logger(),
		Workers:           workers,
		Queues:            map[string]river.QueueConfig{queue: {MaxWorkers: n}},
		JobTimeout:        -1, // none
		FetchPollInterval: 100 * time.Millisecond,
	})
	if err != nil {
		a.tb.Fatal(err)
	}
	if err := client.Start(ctx); err != nil {
		a.tb.Fatal(err)
	}
	return func() {
		if err := client.Stop(ctx); err != nil {
			a.tb.Error(err)
		}
	}
}

// Reset forgets the app's connections, which a restart of the server has broken.
func (a *RiverApp) Reset() { a.pool.Reset() }

// Exec runs a statement in the app's database and returns how many rows it changed.
func (a *RiverApp) Exec(statement string, args ...any) int64 {
	a.tb.Helper()
	done, err := a.pool.Exec(a.tb.Context(), statement, args...)
	if err != nil {
		a.tb.Fatal(err)
	}
	return done.RowsAffected()
}

// Number asks the app's database for one number.
func (a *RiverApp) Number(query string, args ...any) int64 {
	a.tb.Helper()
	var n int64
	if err := a.pool.QueryRow(context.WithoutCancel(a.tb.Context()), query, args...).Scan(&n); err != nil {
		a.tb.Fatal(err)
	}
	return n
}

// logger passes River's warnings on to the test.
func (a *RiverApp) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}
