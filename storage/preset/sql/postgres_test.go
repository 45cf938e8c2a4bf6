package sql_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/preset/sql"
	"github.com/leadsman/leadsman/storage/storagetest"
)

func TestMain(m *testing.M) { os.Exit(storagetest.Main(m)) }

func open(t *testing.T, dsn, query string, listen *driver.Listen) *postgres.Engine {
	t.Helper()
	preset, err := sql.New(query, listen)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := postgres.Open(postgres.Config{URL: func() (string, error) { return dsn, nil }, SQL: *preset.Postgres})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func read(t *testing.T, dsn, query string, wants ...driver.Want) (driver.Reading, error) {
	t.Helper()
	engine := open(t, dsn, query, nil)
	defer engine.Close()
	return engine.Read(t.Context(), driver.Request{Wants: wants})
}

// riverTables reads River's tables as somebody would who knows no preset for them.
const riverTables = `
	SELECT name AS queue, bool_or(paused) AS paused,
	       count(*) FILTER (WHERE waits AND due AND NOT paused) AS ready,
	       count(*) FILTER (WHERE waits AND NOT due) AS scheduled,
	       count(*) FILTER (WHERE state = 'running' AND attempted_at > now() - interval '1 day') AS running,
	       min(scheduled_at) FILTER (WHERE waits AND due AND NOT paused) AS oldest_ready_at,
	       min(scheduled_at) FILTER (WHERE waits AND NOT due) AS next_due_at
	FROM (SELECT coalesce(j.queue, q.name) AS name, j.*, q.paused_at IS NOT NULL AS paused, j.scheduled_at <= now() AS due,
	             j.state IN ('available', 'scheduled', 'retryable') AS waits
	      FROM river_job j FULL JOIN river_queue q ON q.name = j.queue) AS jobs
	GROUP BY name`

func TestAQueryOfOnesOwnKeepsTheContracts(t *testing.T) {
	listen := &driver.Listen{Channels: []string{"{schema}.river_insert"}, Payload: "queue", Echo: []time.Duration{50 * time.Millisecond, 110 * time.Millisecond}}
	storagetest.Run(t, storagetest.Harness{
		Open: func(t *testing.T) (driver.Reader, storagetest.Fixture) {
			dsn := storagetest.Postgres(t)
			fixture := storagetest.RiverPostgres(t, dsn)
			return open(t, dsn, riverTables, listen), fixture
		},
		OpenBare:  func(t *testing.T) driver.Reader { return open(t, storagetest.Postgres(t), riverTables, listen) },
		Abilities: storagetest.Abilities{Push: driver.ModeListen, Everything: true, Paused: true, Retries: true, Orphans: true},
	})
}

// Case 24.
func TestWhatBreaksTheRowContractIsAnErrorThatNamesIt(t *testing.T) {
	dsn := storagetest.Postgres(t)
	tests := map[string]string{
		"SELECT 'mail' AS queue, 'NaN'::float8 AS ready":                                                 `queue "mail": column "ready" is NaN`,
		"SELECT 'mail' AS queue, 'NaN'::numeric AS ready":                                                `queue "mail": column "ready" is NaN`,
		"SELECT 'mail' AS queue, 'Infinity'::numeric AS ready":                                           `queue "mail": column "ready" is +Inf`,
		"SELECT 'mail' AS queue, '-Infinity'::float4 AS ready":                                           `queue "mail": column "ready" is -Inf`,
		"SELECT 'mail' AS queue, '12'::text AS ready":                                                    `queue "mail": column "ready" holds the text "12"`,
		"SELECT 'mail' AS queue, '12' AS ready":                                                          `queue "mail": column "ready" holds the text "12"`,
		"SELECT 'mail' AS queue, 1.5 AS ready":                                                           `queue "mail": column "ready" is 1.5`,
		"SELECT 'mail' AS queue, -1 AS ready":                                                            `queue "mail": column "ready" is -1`,
		"SELECT 'mail' AS queue, 1e30::numeric AS ready":                                                 `queue "mail": column "ready"`,
		"SELECT 'mail' AS queue, interval '1 s' AS ready":                                                `type interval`,
		"SELECT 'mail' AS queue, ARRAY[1] AS ready":                                                      `column "ready"`,
		"SELECT 'mail' AS queue, 1 AS ready UNION ALL SELECT 'mail', 2":                                  `queue "mail": the query returned it in two rows`,
		"SELECT 'mail' AS queue, 1 AS count":                                                             `no column "ready"; its columns are queue, count`,
		"SELECT 1 AS ready":                                                                              `no column "queue"`,
		"SELECT NULL::text AS queue, 1 AS ready":                                                         `column "queue" is NULL`,
		"SELECT 7 AS queue, 1 AS ready":                                                                  `cast it to text`,
		"SELECT 'mail' AS queue, 1 AS ready, now()::timestamp AS oldest_ready_at":                        `"oldest_ready_at" holds a timestamp without time zone`,
		"SELECT 'mail' AS queue, 1 AS ready, current_date AS next_due_at":                                `"next_due_at" holds a value of type date`,
		"SELECT 'mail' AS queue, 1 AS ready, 'infinity'::timestamptz AS next_due_at":                     `"next_due_at" holds infinity`,
		"SELECT 'mail' AS queue, 1 AS ready, 'NaN'::float8 AS oldest_seconds":                            `"oldest_seconds" is NaN`,
		"SELECT 'mail' AS queue, count(*) AS ready, 'x' AS paused FROM pg_class":                         `"paused" holds the text "x"`,
		"SELECT queue, ready FROM (VALUES ('mail', 1), ('print', NULL), ('mail', 3)) AS v(queue, ready)": `queue "mail"`,
	}
	for query, says := range tests {
		reading, err := read(t, dsn, query, driver.Want{Queue: "mail"})
		var known *driver.Error
		if !errors.As(err, &known) || known.Kind != driver.Contract || !strings.Contains(err.Error(), says) {
			t.Errorf("%s:\n got %+v, %v\nwant a contract error that says %s", query, reading.Queues, err, says)
		}
	}
}

func TestNullAndNoRowAreNoJobs(t *testing.T) {
	dsn := storagetest.Postgres(t)
	wants := []driver.Want{{Queue: "mail"}}
	for query, want := range map[string]driver.Queue{
		"SELECT 'mail' AS queue, sum(n) AS ready FROM (SELECT 1::bigint AS n WHERE false) AS s":    {Name: "mail", Known: true},
		"SELECT 'mail' AS queue, sum(n) AS ready FROM (VALUES (3::bigint), (4)) AS s(n)":           {Name: "mail", Known: true, Ready: 7},
		"SELECT 'mail'::name AS queue, 2::smallint AS ready, 3.0 AS running, NULL::int AS workers": {Name: "mail", Known: true, Ready: 2, Running: 3},
		"SELECT 'print' AS queue, 1 AS ready":                                                      {Name: "mail"},
		"SELECT 'mail' AS queue, 1 AS ready WHERE false":                                           {Name: "mail"},
	} {
		reading, err := read(t, dsn, query, wants...)
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		if diff := cmp.Diff([]driver.Queue{want}, reading.Queues); diff != "" {
			t.Errorf("%s:\n%s", query, diff)
		}
	}
}

// Case 58.
func TestTheDatabasesClockDecidesInAnyTimeZone(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, sql := range []string{
		"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = ''Europe/Berlin''', current_database()); END $$",
		"DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET datestyle = ''German''', current_database()); END $$",
		"CREATE TABLE jobs (queue text, run_at timestamp)", // naive, in UTC, as Rails and Symfony write it
		`INSERT INTO jobs VALUES ('mail', now() AT TIME ZONE 'utc' - interval '1 minute'), ('mail', now() AT TIME ZONE 'utc' + interval '1 hour')`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	const query = `SELECT queue,
		count(*) FILTER (WHERE run_at <= now() AT TIME ZONE 'utc') AS ready,
		count(*) FILTER (WHERE run_at > now() AT TIME ZONE 'utc') AS scheduled,
		min(run_at) FILTER (WHERE run_at <= now() AT TIME ZONE 'utc') AT TIME ZONE 'utc' AS oldest_ready_at,
		min(run_at) FILTER (WHERE run_at > now() AT TIME ZONE 'utc') AT TIME ZONE 'utc' AS next_due_at
		FROM jobs GROUP BY queue`
	reading, err := read(t, dsn, query, driver.Want{Queue: "mail"})
	if err != nil {
		t.Fatal(err)
	}
	q := reading.Queues[0]
	if q.Ready != 1 || q.Scheduled != 1 {
		t.Errorf("got %+v, want one ready and one scheduled", q)
	}
	near := func(got, want time.Duration) bool { return got > want-time.Minute/2 && got < want+time.Minute/2 }
	if !near(q.Oldest, time.Minute) || !near(q.NextDue, time.Hour) {
		t.Errorf("got oldest %s and next due %s, want about 1m and 1h", q.Oldest, q.NextDue)
	}
	if d := time.Since(reading.Now); d < -time.Minute || d > time.Minute {
		t.Errorf("the database's clock reads %s", reading.Now.String())
	}
}

func TestAQueryCannotLookAhead(t *testing.T) {
	_, err := read(t, storagetest.Postgres(t), "SELECT 'mail' AS queue, 1 AS ready", driver.Want{Queue: "mail", Lookahead: time.Minute})
	if err == nil || !strings.Contains(err.Error(), "look ahead") {
		t.Errorf("got %v", err)
	}
}

func TestTheDocumentedExampleWorks(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "query: |\n")
	query, _, _ := strings.Cut(rest, "    listen:")
	_, rest, _ = strings.Cut(rest, "```sql\n")
	trigger, _, _ := strings.Cut(rest, "```")

	dsn := storagetest.Postgres(t)
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	const table = "CREATE TABLE jobs (queue text, run_at timestamptz, locked_at timestamptz, finished_at timestamptz);"
	const jobs = "INSERT INTO jobs VALUES ('mail', now(), NULL), ('mail', now() + interval '1 hour', NULL), ('mail', now(), now())"
	for _, sql := range []string{table + trigger, jobs} {
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	reading, err := read(t, dsn, query, driver.Want{Queue: "mail"})
	if err != nil {
		t.Fatal(err)
	}
	if q := reading.Queues[0]; q.Ready != 1 || q.Running != 1 || q.NextDue < 50*time.Minute || q.Oldest <= 0 {
		t.Errorf("got %+v, want one ready, one running and one due in an hour", q)
	}
}
