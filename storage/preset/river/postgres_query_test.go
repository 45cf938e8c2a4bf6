package river_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

func TestPostgresQueryIsTheReviewedText(t *testing.T) {
	plain, quoted := engine(t, "host=127.0.0.1", "").Queries(), engine(t, "host=127.0.0.1", `My "Jobs"`).Queries()
	for file, got := range map[string]string{
		"postgres.golden.sql": plain[0], "postgres_schema.golden.sql": quoted[0],
		"postgres_activity.golden.sql": plain[1], "postgres_activity_schema.golden.sql": quoted[1],
	} {
		sqltest.Golden(t, filepath.Join("testdata", file), got)
	}
}

// engine is open, closed when the test ends.
func engine(t *testing.T, dsn, schema string) *postgres.Engine {
	t.Helper()
	e := open(t, dsn, schema)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func connect(t *testing.T, dsn string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// read reads one queue.
func read(t *testing.T, e *postgres.Engine, queue string, limit int64) driver.Queue {
	t.Helper()
	reading, err := e.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: queue}}, Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return reading.Queues[0]
}

const addJobs = `INSERT INTO river_job (state, queue, priority, kind, args, max_attempts, scheduled_at, attempted_at, finalized_at)
	SELECT $1::river_job_state, $2, 1 + g % 4, 'k', '{}', 25, now() - g * interval '1 second', now() - $4::interval,
	       CASE WHEN $1 = 'completed' THEN now() END
	FROM generate_series(1, $3::int) g`

// Case 60.
func TestThousandsOfOrphanedJobsAreNotRunning(t *testing.T) {
	dsn := storagetest.Postgres(t)
	storagetest.RiverPostgres(t, dsn)
	pool := connect(t, dsn)
	exec(t, pool, addJobs, "running", "mail", 5133, "40 days")
	exec(t, pool, addJobs, "running", "mail", 2, "1 hour")
	if diff := cmp.Diff(driver.Queue{Name: "mail", Known: true, Running: 2}, read(t, engine(t, dsn, ""), "mail", 100_000)); diff != "" {
		t.Error(diff)
	}
}

// A cost is what a plan did, in work that does not depend on the machine.
type cost struct {
	Buffers int // pages looked at
	Scans   []string
}

// explain runs the query as the engine does and returns what it cost.
func explain(t *testing.T, pool *pgxpool.Pool, query, wants string, limit int) cost {
	t.Helper()
	var text []byte
	// Simple protocol: the parameters' types come from the query's own casts.
	err := pool.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) "+query,
		pgx.QueryExecModeExec, wants, limit, 86400.0).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	var plans []struct{ Plan map[string]any }
	if err := json.Unmarshal(text, &plans); err != nil {
		t.Fatal(err)
	}
	root := plans[0].Plan
	c := cost{Buffers: int(root["Shared Hit Blocks"].(float64) + root["Shared Read Blocks"].(float64))}
	var walk func(node map[string]any)
	walk = func(node map[string]any) {
		if node["Relation Name"] == "river_job" && node["Actual Loops"] != 0.0 {
			c.Scans = append(c.Scans, fmt.Sprint(node["Node Type"], " ", node["Index Name"]))
		}
		children, _ := node["Plans"].([]any)
		for _, child := range children {
			walk(child.(map[string]any))
		}
	}
	walk(root)
	return c
}

// Case 55.
func TestReadsAreBoundedProbesOfRiversIndex(t *testing.T) {
	dsn := storagetest.Postgres(t)
	storagetest.RiverPostgres(t, dsn)
	pool := connect(t, dsn)
	exec(t, pool, "ALTER TABLE river_job SET (autovacuum_enabled = off)")
	exec(t, pool, "DROP INDEX river_job_args_index, river_job_metadata_index") // only to load faster
	queries := engine(t, dsn, "").Queries()
	query := queries[0]
	const one = `[{"queue": "big", "lookahead": 0}]`
	bounded := func(when string) {
		t.Helper()
		for limit, most := range map[int]int{1: 100, 1000: 1500} {
			for _, query := range queries {
				c := explain(t, pool, query, one, limit)
				if c.Buffers > most {
					t.Errorf("%s: limit %d looked at %d pages, want at most %d", when, limit, c.Buffers, most)
				}
				for _, scan := range c.Scans {
					if !strings.HasPrefix(scan, "Index") || !strings.HasSuffix(scan, "river_job_prioritized_fetching_index") {
						t.Errorf("%s: limit %d did a %s", when, limit, scan)
					}
				}
			}
		}
	}
	exec(t, pool, addJobs, "completed", "big", 50_000, "1 hour")
	exec(t, pool, addJobs, "available", "big", 50_000, "1 hour")
	bounded("never analyzed")
	exec(t, pool, "VACUUM ANALYZE river_job")
	bounded("with 50,000 ready jobs")
	exec(t, pool, addJobs, "available", "big", 200_000, "1 hour")
	exec(t, pool, "VACUUM ANALYZE river_job")
	bounded("with 250,000 ready jobs")

	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf(`{"queue": "absent-%d", "lookahead": 0}`, i))
	}
	if c := explain(t, pool, query, "["+strings.Join(names, ",")+"]", 100_000); c.Buffers > 1000*40 {
		t.Errorf("1,000 names that nobody uses cost %d pages", c.Buffers)
	}
	exec(t, pool, "INSERT INTO river_job (state, queue, kind, args, max_attempts) SELECT 'available', 'q' || g % 100, 'k', '{}', 25 FROM generate_series(1, 1000) g")
	if c := explain(t, pool, query, `[{"queue": null, "lookahead": 0}]`, 1); c.Buffers > 101*100 {
		t.Errorf("all of 101 queues at limit 1 cost %d pages", c.Buffers)
	}
}

func TestReadWorksFromMigration4On(t *testing.T) {
	for _, version := range []int{3, 4, 5, 6} {
		dsn := storagetest.Postgres(t)
		pool := connect(t, dsn)
		migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := migrator.Migrate(t.Context(), rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: version}); err != nil {
			t.Fatal(err)
		}
		exec(t, pool, addJobs, "available", "mail", 3, "1 hour")
		e := engine(t, dsn, "")
		if version < 4 {
			_, err := e.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: "mail"}}})
			if err == nil || !strings.Contains(err.Error(), `"river_queue" does not exist`) {
				t.Errorf("migration %d: got %v, want an error that names what is missing", version, err)
			}
			continue
		}
		if got := read(t, e, "mail", 0); got.Ready != 3 || got.Oldest < 3*time.Second {
			t.Errorf("migration %d: got %+v", version, got)
		}
	}
}

func TestTheDocumentedGrantSuffices(t *testing.T) {
	dsn := storagetest.Postgres(t)
	fixture := storagetest.RiverPostgres(t, dsn)
	pool := connect(t, dsn)
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	exec(t, pool, "CREATE ROLE leadsman LOGIN CONNECTION LIMIT 5")
	defer exec(t, pool, "DROP OWNED BY leadsman; DROP ROLE leadsman", pgx.QueryExecModeSimpleProtocol)
	grants := 0
	for line := range strings.Lines(string(readme)) {
		if strings.HasPrefix(line, "GRANT ") {
			exec(t, pool, line)
			grants++
		}
	}
	if grants == 0 {
		t.Fatal("README.md documents no GRANT")
	}
	fixture.Insert("mail", 2)
	limited := strings.Replace(dsn, "postgres@", "leadsman@", 1)
	if got := read(t, engine(t, limited, ""), "mail", 0); got.Ready != 2 {
		t.Errorf("got %+v", got)
	}
}
