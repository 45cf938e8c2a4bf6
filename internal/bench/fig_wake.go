package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"

	"github.com/leadsman/leadsman/storage/sqlite"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// How long a contender is left alone before a round. River's client announces a queue once in 100 ms, and leadsman
// looks again up to 110 ms after a notification; on SQLite it looks for some 30 ms after a commit, and has closed the
// file after a second.
const (
	quietPostgres     = 160 * time.Millisecond
	quietSQLite       = 80 * time.Millisecond
	quietSQLiteClosed = 1300 * time.Millisecond
)

// measureWakePostgres is leadsman beside a bare LISTEN, and beside one that asks before it tells, as leadsman must:
// a signal is a hint, and only a sample wakes.
func measureWakePostgres(b *bed) []row {
	const asks = `SELECT EXISTS (SELECT FROM river_job WHERE state = 'available' AND queue = '` + wakeQueue + `')`
	contend := func(start func(url string) *process) *contender {
		url := b.cluster().Database(b)
		queue := newRiverPostgres(b, url)
		return &contender{listen: b.dial(start(url)).wakes, queue: queue}
	}
	ours := contend(func(url string) *process { return b.leadsman(url, nil) })
	limit := contend(func(url string) *process { return b.bare("-postgres", url) })
	asking := contend(func(url string) *process { return b.bare("-postgres", url, "-check", asks) })
	race(b, pick(b, 300, 20), quietPostgres, ours, limit, asking)
	const where = "PostgreSQL: "
	return append(wakeRows(where, ours, limit, "bare LISTEN + bare stream", true),
		wakeRows(where, ours, asking, "bare LISTEN + EXISTS + bare stream", false)...)
}

// measureWakeSQLite is leadsman beside a watcher that asks until the job is visible.
func measureWakeSQLite(b *bed) []row {
	contend := func(start func(file string) *process) *contender {
		file := filepath.Join(b.tempDir(), "jobs.db")
		queue := newRiverSQLite(b, file)
		return &contender{listen: b.dial(start(file)).wakes, queue: queue}
	}
	ours := contend(func(file string) *process { return b.leadsman("sqlite:"+file, nil) })
	limit := contend(func(file string) *process { return b.bare("-sqlite", file) })
	const against = "bare inotify + EXISTS + bare stream"
	race(b, pick(b, 300, 20), quietSQLite, ours, limit)
	rows := wakeRows("SQLite: ", ours, limit, against, true)
	race(b, pick(b, 14, 2), quietSQLiteClosed, ours, limit)
	return append(rows, row{
		what: "SQLite, file closed: commit → true, p50", ours: took(median(ours.sinceCommit)),
		limit: took(median(limit.sinceCommit)), against: against + ", file open",
	})
}

// riverPostgres is a producer with River's client on PostgreSQL.
type riverPostgres struct {
	client *river.Client[pgx.Tx]
	pool   *pgxpool.Pool // for what River does not do
}

func newRiverPostgres(b *bed, url string) *riverPostgres {
	pool, err := pgxpool.New(b.ctx, url)
	b.must(err)
	b.Cleanup(pool.Close)
	return &riverPostgres{storagetest.RiverPostgres(b, url).Client(), pool}
}

func (p *riverPostgres) insert(ctx context.Context) error { return insertJob(ctx, p.client) }

func (p *riverPostgres) clear(ctx context.Context) error {
	_, err := p.pool.Exec(ctx, "DELETE FROM river_job")
	return err
}

// riverSQLite is a producer with River's client on SQLite.
type riverSQLite struct {
	client *river.Client[*sql.Tx]
	db     *sql.DB // for what River does not do
}

func newRiverSQLite(b *bed, file string) *riverSQLite {
	client := storagetest.RiverSQLite(b, file).Client()
	db, err := sql.Open("sqlite", sqlite.WriterDSN(file))
	b.must(err)
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() }) // the file goes too
	return &riverSQLite{client, db}
}

func (p *riverSQLite) insert(ctx context.Context) error { return insertJob(ctx, p.client) }

func (p *riverSQLite) clear(ctx context.Context) error {
	_, err := p.db.ExecContext(ctx, "DELETE FROM river_job")
	return err
}

func insertJob[TTx any](ctx context.Context, client *river.Client[TTx]) error {
	_, err := client.Insert(ctx, benchJob{}, &river.InsertOpts{Queue: wakeQueue})
	return err
}

// benchJob is a job that nobody works on.
type benchJob struct{}

// Kind implements river.JobArgs.
func (benchJob) Kind() string { return "bench" }
