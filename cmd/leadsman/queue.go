package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/spf13/cobra"

	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/sqlite"
)

// queueOptions say which queue store enqueue and work are for.
type queueOptions struct {
	url, schema string
	migrate     bool // bring River's schema up to date first
}

func (o *queueOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.url, "url", "", "the queue's database, postgres: or sqlite: (LEADSMAN_URL; default "+embeddedURL+")")
	cmd.Flags().StringVar(&o.schema, "schema", "", "the PostgreSQL schema that River's tables are in (default: the search path)")
	cmd.Flags().BoolVar(&o.migrate, "migrate", false, "run River's migrations first; always done for "+embeddedURL)
}

// complete fills in the environment and the default.
func (o *queueOptions) complete() {
	if o.url == "" {
		o.url = os.Getenv("LEADSMAN_URL")
	}
	if o.url == "" {
		o.url, o.migrate = embeddedURL, true
	}
}

// A queue is a store of River's, on either database.
type queue interface {
	// insert adds jobs to a queue, due at once or at a time.
	insert(ctx context.Context, queue string, n int, at time.Time) error
	// work runs jobs of a queue until ctx is done, and then lets those that run end. done is called after each.
	work(ctx context.Context, queue string, concurrency int, takes time.Duration, done func()) error
	io.Closer
}

// openQueue connects to the store.
func openQueue(ctx context.Context, o queueOptions) (queue, error) { //nolint:ireturn // one of two instantiations
	scheme, _, _ := strings.Cut(o.url, ":")
	switch schemes[strings.ToLower(scheme)] {
	case enginePostgres:
		pool, err := pgxpool.New(ctx, o.url)
		if err != nil {
			return nil, redactedError{err, postgres.Secrets(o.url)}
		}
		return newQueue(ctx, riverpgxv5.New(pool), o, func() error { pool.Close(); return nil })
	case engineSQLite:
		path, err := sqlite.ParseURL(o.url)
		if err != nil {
			return nil, err
		}
		db, err := sql.Open("sqlite", sqlite.WriterDSN(path))
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1) // SQLite has one writer
		return newQueue(ctx, riversqlite.New(db), o, db.Close)
	default:
		return nil, errors.New("--url: write a URL that begins with postgres: or sqlite:, such as " + embeddedURL)
	}
}

func newQueue[TTx any]( //nolint:ireturn // as openQueue
	ctx context.Context, driver riverdriver.Driver[TTx], o queueOptions, closeDB func() error,
) (queue, error) {
	q := &riverQueue[TTx]{driver: driver, schema: o.schema, close: closeDB, secrets: postgres.Secrets(o.url)}
	if err := q.open(ctx, o.migrate); err != nil {
		return nil, errors.Join(redactedError{err, q.secrets}, closeDB())
	}
	return q, nil
}

// riverQueue is a queue by River's own client.
type riverQueue[TTx any] struct {
	driver  riverdriver.Driver[TTx]
	schema  string
	close   func() error
	client  *river.Client[TTx] // inserts only
	secrets []string
}

func (q *riverQueue[TTx]) open(ctx context.Context, migrate bool) error {
	if migrate {
		migrator, err := rivermigrate.New(q.driver, &rivermigrate.Config{Logger: quiet(), Schema: q.schema})
		if err != nil {
			return err
		}
		if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
			return fmt.Errorf("run River's migrations: %w", err)
		}
	}
	var err error
	q.client, err = river.NewClient(q.driver, &river.Config{Logger: quiet(), Schema: q.schema})
	return err
}

// quiet is River's logger here: what goes wrong comes back as an error.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func (q *riverQueue[TTx]) insert(ctx context.Context, queue string, n int, at time.Time) error {
	params := make([]river.InsertManyParams, n)
	for i := range params {
		params[i] = river.InsertManyParams{Args: demoArgs{}, InsertOpts: &river.InsertOpts{Queue: queue, ScheduledAt: at}}
	}
	if _, err := q.client.InsertMany(ctx, params); err != nil {
		return redactedError{fmt.Errorf("insert: %w (without River's tables in the database, add --migrate)", err), q.secrets}
	}
	return nil
}

func (q *riverQueue[TTx]) work(ctx context.Context, queue string, concurrency int, takes time.Duration, done func()) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &demoWorker{takes: takes, done: done})
	client, err := river.NewClient(q.driver, &river.Config{
		Logger: quiet(), Schema: q.schema, Workers: workers, JobTimeout: -1,
		Queues: map[string]river.QueueConfig{queue: {MaxWorkers: concurrency}},
	})
	if err != nil {
		return err
	}
	// Not with ctx: its end would cancel the jobs that run. Stop lets them finish.
	if err := client.Start(context.WithoutCancel(ctx)); err != nil {
		return redactedError{fmt.Errorf("start the worker: %w (without River's tables in the database, add --migrate)", err), q.secrets}
	}
	<-ctx.Done()
	return client.Stop(context.WithoutCancel(ctx))
}

func (q *riverQueue[TTx]) Close() error { return q.close() }

// demoArgs is a job that takes as long as its worker says.
type demoArgs struct{}

// Kind implements river.JobArgs.
func (demoArgs) Kind() string { return "leadsman_demo" }

type demoWorker struct {
	river.WorkerDefaults[demoArgs]

	takes time.Duration
	done  func()
}

// Work waits, as a worker on a slow API does.
func (w *demoWorker) Work(ctx context.Context, _ *river.Job[demoArgs]) error {
	select {
	case <-time.After(w.takes):
		w.done()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A redactedError is an error whose text has lost its secrets.
type redactedError struct {
	error

	secrets []string
}

func (e redactedError) Error() string {
	text := e.error.Error()
	for _, secret := range e.secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, redacted)
		}
	}
	return text
}

func (e redactedError) Unwrap() error { return e.error }
