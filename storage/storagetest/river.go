package storagetest

import (
	"database/sql"
	"log/slog"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	_ "modernc.org/sqlite" // database/sql's driver "sqlite"
)

// River is a Fixture that writes with River itself: its migrations, its client, and its workers.
type River[TTx any] struct {
	tb     testing.TB
	driver riverdriver.Driver[TTx]
	schema string
	client *river.Client[TTx] // inserts only
}

// RiverPostgres migrates the database behind url to River's newest schema and returns a fixture of it.
func RiverPostgres(tb testing.TB, url string) *River[pgx.Tx] {
	tb.Helper()
	return RiverPostgresIn(tb, url, "")
}

// RiverPostgresIn is RiverPostgres in a schema other than public, which it creates. River accepts letters, digits and
// underscores in the name.
func RiverPostgresIn(tb testing.TB, url, schema string) *River[pgx.Tx] {
	tb.Helper()
	pool, err := pgxpool.New(tb.Context(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	if schema != "" {
		if _, err := pool.Exec(tb.Context(), "CREATE SCHEMA "+pgx.Identifier{schema}.Sanitize()); err != nil {
			tb.Fatal(err)
		}
	}
	return newRiver(tb, riverpgxv5.New(pool), schema)
}

// RiverSQLite creates or opens a database file, migrates it to River's newest schema and returns a fixture of
// it. The file is in WAL mode.
func RiverSQLite(tb testing.TB, file string) *River[*sql.Tx] {
	tb.Helper()
	// River's own defaults (rollback journal, no busy timeout) make writers fail under each other.
	dsn := url.URL{Scheme: "file", Path: file, RawQuery: "_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)" +
		"&_pragma=synchronous(NORMAL)&_txlock=immediate"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close River's database: %v", err)
		}
	})
	return newRiver(tb, riversqlite.New(db), "")
}

func newRiver[TTx any](tb testing.TB, driver riverdriver.Driver[TTx], schema string) *River[TTx] {
	tb.Helper()
	f := &River[TTx]{tb: tb, driver: driver, schema: schema}
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: f.logger(), Schema: schema})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := migrator.Migrate(tb.Context(), rivermigrate.DirectionUp, nil); err != nil {
		tb.Fatalf("migrate to River's schema: %v", err)
	}
	f.client, err = river.NewClient(driver, &river.Config{Logger: f.logger(), Schema: schema})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// Client is the client that the fixture inserts with; it runs no workers.
func (f *River[TTx]) Client() *river.Client[TTx] { return f.client }

// logger passes River's warnings on to the test.
func (f *River[TTx]) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(f.tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// must fails the test on an error of River.
func (f *River[TTx]) must(err error) {
	f.tb.Helper()
	if err != nil {
		f.tb.Fatalf("river: %v", err)
	}
}

// validName is what River's Go client accepts as a queue's name, in up to 64 bytes. Its tables accept any name of
// up to 127, and its clients for other languages do too.
var validName = regexp.MustCompile(`^[a-z0-9]+(?:[_|\-]?[a-z0-9]+)*$`)

// Insert implements Fixture. The jobs are spread over River's four priorities.
func (f *River[TTx]) Insert(queue string, n int) {
	f.tb.Helper()
	if len(queue) > 64 || !validName.MatchString(queue) {
		for i := range n {
			f.insertRow(riverdriver.JobInsertFullParams{Queue: queue, Priority: 1 + i%4, State: rivertype.JobStateAvailable})
		}
		return
	}
	f.insert(n, jobArgs{}, river.InsertOpts{Queue: queue})
}

// Schedule implements Fixture.
func (f *River[TTx]) Schedule(queue string, n int, in time.Duration) {
	f.tb.Helper()
	f.insert(n, jobArgs{}, river.InsertOpts{Queue: queue, ScheduledAt: time.Now().Add(in)})
}

// Cancel implements Fixture.
func (f *River[TTx]) Cancel(queue string, n int) {
	f.tb.Helper()
	for _, id := range f.insert(n, jobArgs{}, river.InsertOpts{Queue: queue}) {
		_, err := f.client.JobCancel(f.tb.Context(), id)
		f.must(err)
	}
}

// Pause implements Fixture. River pauses only queues that a client has served, so one does for a moment.
func (f *River[TTx]) Pause(queue string) {
	f.tb.Helper()
	f.work(queue, 1).stop()
	f.must(f.client.QueuePause(f.tb.Context(), queue, nil))
}

// insert adds n jobs in one transaction and returns their ids. Priority 0 in opts spreads them over all four.
func (f *River[TTx]) insert(n int, args jobArgs, opts river.InsertOpts) []int64 {
	f.tb.Helper()
	var ids []int64
	const batch = 500 // River's own limit is the database's number of parameters
	for len(ids) < n {
		params := make([]river.InsertManyParams, min(batch, n-len(ids)))
		for i := range params {
			o := opts
			if o.Priority == 0 {
				o.Priority = 1 + i%4
			}
			params[i] = river.InsertManyParams{Args: args, InsertOpts: &o}
		}
		results, err := f.client.InsertMany(f.tb.Context(), params)
		f.must(err)
		for _, r := range results {
			ids = append(ids, r.Job.ID)
		}
	}
	return ids
}

// insertRow adds a job in any state, through River's driver.
func (f *River[TTx]) insertRow(job riverdriver.JobInsertFullParams) {
	f.tb.Helper()
	job.EncodedArgs, job.Kind, job.MaxAttempts, job.Schema = []byte("{}"), jobArgs{}.Kind(), 25, f.schema
	job.Metadata = []byte("{}")
	_, err := f.driver.GetExecutor().JobInsertFull(f.tb.Context(), &job)
	f.must(err)
}

var _ Fixture = (*River[pgx.Tx])(nil)
