package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/preset/laravel"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// insertTable is Laravel's, a library that announces nothing: one index, and so as sensitive to a trigger as any.
const insertTable = `CREATE TABLE jobs (
	id bigserial PRIMARY KEY, queue character varying(255) NOT NULL, payload text NOT NULL, attempts smallint NOT NULL,
	reserved_at integer, available_at integer NOT NULL, created_at integer NOT NULL);
	CREATE INDEX jobs_queue_index ON jobs (queue)`

// Triggers that announce always: what libraries have for each row, and the least that could be.
const (
	notifyRow = `CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_notify('jobs', json_build_object('queue', NEW.queue)::text); RETURN NULL; END $$;
		CREATE TRIGGER announce AFTER INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION announce()`
	notifyStatement = `CREATE FUNCTION announce() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_notify('jobs', ''); RETURN NULL; END $$;
		CREATE TRIGGER announce AFTER INSERT ON jobs FOR EACH STATEMENT EXECUTE FUNCTION announce()`
)

const insertRows = `INSERT INTO jobs (queue, payload, attempts, available_at, created_at)
	SELECT '` + wakeQueue + `', '{"job": "send"}', 0, 1, 1 FROM generate_series(1, %d);`

// measureInsert is what inserters can do beside a trigger that announces jobs. The limit is a table without one. The
// server makes its commits durable, as servers do: what a NOTIFY costs is that commits wait for each other. Each round runs
// over all tables, in any order, and a table is compared with the limit's run of the same round: what else the machine does,
// a busy disk above all, changes more from one round to the next. The median of the rounds counts.
func measureInsert(b *bed) []row {
	cluster := storagetest.StartCluster(b, storagetest.Setting("fsync", "on"), storagetest.Setting("synchronous_commit", "on"),
		storagetest.Setting("full_page_writes", "on"), storagetest.Setting("max_wal_size", "8GB"),
		storagetest.Setting("shared_buffers", "256MB"))
	bell, err := postgres.BellSQL(*laravel.Preset.Postgres, "")
	b.must(err)
	tables := []*insertion{
		{what: "no trigger"},
		{what: "pg_notify for each row", trigger: notifyRow},
		{what: "pg_notify for each statement", trigger: notifyStatement},
		{what: "armed bell, nobody waits", trigger: bell},
		{what: "armed bell, leadsman waits", trigger: bell, live: true},
	}
	for _, table := range tables {
		table.prepare(b, cluster.Database(b))
	}
	loads := insertLoads(b)
	rows := make([]row, 0, len(loads)*len(tables))
	for _, load := range loads {
		for range pick(b, 15, 2) {
			for _, next := range rand.Perm(len(tables)) {
				tables[next].rates = append(tables[next].rates, tables[next].run(b, load))
			}
		}
		for _, table := range tables[1:] {
			rows = append(rows, table.row(load, tables[0]))
		}
		for _, table := range tables {
			table.rates = nil
		}
	}
	return rows
}

// An insertLoad is a way to insert jobs. It returns how many were inserted in a second.
type insertLoad struct {
	what string
	run  func(b *bed, url string) float64
}

func insertLoads(b *bed) []insertLoad {
	pgbench, err := storagetest.Program("pgbench")
	b.must(err)
	var loads []insertLoad
	for _, clients := range []int{1, 8} {
		for _, rows := range []int{1, 10} {
			loads = append(loads, insertLoad{
				what: fmt.Sprintf("%d × %d rows", clients, rows),
				run:  func(b *bed, url string) float64 { return runPgbench(b, pgbench, url, clients, rows) },
			})
		}
	}
	copied := pick(b, 100_000, 10_000)
	return append(loads, insertLoad{fmt.Sprintf("COPY of %s rows", inWords(copied)), func(b *bed, url string) float64 {
		return copyJobs(b, url, copied)
	}})
}

var tps = regexp.MustCompile(`tps = ([0-9.]+) \(without`)

// runPgbench inserts so many rows in each transaction, by so many clients, for a second. That is about how often a busy
// queue rings.
func runPgbench(b *bed, program, url string, clients, rows int) float64 {
	script := filepath.Join(b.tempDir(), "insert.sql")
	b.must(os.WriteFile(script, fmt.Appendf(nil, insertRows, rows), 0o600))
	out, err := exec.CommandContext(b.ctx, program, "--no-vacuum", "--protocol", "prepared", "--file", script,
		"--client", strconv.Itoa(clients), "--jobs", strconv.Itoa(min(clients, 2)), "--time", "1", url).CombinedOutput()
	if err != nil {
		b.Fatalf("pgbench: %w\n%s", err, out)
	}
	found := tps.FindSubmatch(out)
	if found == nil {
		b.Fatalf("pgbench prints no rate:\n%s", out)
	}
	rate, err := strconv.ParseFloat(string(found[1]), 64)
	b.must(err)
	return rate * float64(rows)
}

// copyJobs inserts n rows by COPY.
func copyJobs(b *bed, url string, n int) (rate float64) {
	b.withConn(url, func(conn *pgx.Conn) {
		rows := pgx.CopyFromSlice(n, func(int) ([]any, error) {
			return []any{wakeQueue, `{"job": "send"}`, int16(0), int32(1), int32(1)}, nil
		})
		start := time.Now()
		_, err := conn.CopyFrom(b.ctx, pgx.Identifier{"jobs"}, []string{"queue", "payload", "attempts", "available_at", "created_at"}, rows)
		b.must(err)
		rate = float64(n) / time.Since(start).Seconds()
	})
	return rate
}

// An insertion is a table of jobs with or without a trigger.
type insertion struct {
	what    string
	trigger string
	live    bool // leadsman waits for a job of it, with one stream open

	url   string
	rates []float64 // of the present load, by round
}

func (t *insertion) prepare(b *bed, url string) {
	t.url = url
	b.exec(url, insertTable)
	if t.trigger != "" {
		b.exec(url, t.trigger)
	}
	if t.live {
		c := b.dial(b.leadsmanOver(sourceOf(url, "laravel"), nil))
		ctx, end := context.WithCancel(b.ctx)
		b.Cleanup(end)
		b.must(c.listen(ctx, c.object(0, wakeQueue), func(time.Time) {}))
	}
}

// row sets what was inserted beside the limit's.
func (t *insertion) row(load insertLoad, limit *insertion) row {
	rate := median(limit.rates)
	r := row{
		what: "inserts, " + load.what + ": " + t.what, ours: perSecond(rate * median(ratios(t.rates, limit.rates))),
		limit: perSecond(rate), against: limit.what,
	}
	if t.live {
		r.target = ratioAtLeast(0.9)
	}
	return r
}

// run loads the empty table.
func (t *insertion) run(b *bed, load insertLoad) float64 {
	b.exec(t.url, "TRUNCATE jobs")
	if t.live {
		t.awaitArmed(b)
	}
	return load.run(b, t.url)
}

// awaitArmed waits until leadsman holds the locks by which the bell knows that somebody waits.
func (t *insertion) awaitArmed(b *bed) {
	b.withConn(t.url, func(conn *pgx.Conn) {
		for deadline := time.Now().Add(startTimeout); ; time.Sleep(10 * time.Millisecond) {
			var armed bool
			b.must(conn.QueryRow(b.ctx, `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&armed))
			switch {
			case armed:
				return
			case time.Now().After(deadline):
				b.Fatal("leadsman does not arm the bell")
			}
		}
	})
}
