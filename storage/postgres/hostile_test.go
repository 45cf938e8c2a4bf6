package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// oddParts are what means something to SQL, to format, to templates, to drivers and to psql.
var oddParts = []string{
	`"`, `""`, `'`, `\`, `;`, `--`, `/*`, `*/`, `$1`, `$$`, `$queues$`, `$queues_$`, `$trigger$`, `$bell$`, `@wants`, `@limit`, `:limit`, `{schema}`, `{{.}}`,
	`%s`, `%1$I`, `%`, ` `, "\n", "\t", `E'`, `U&"`, `é`, "\u202e", "\ufeff", `日`, `DROP TABLE canary`, `SELECT`, `.`, `,`, `(`, `)`, `[`, `*`, `?`, `x`, `Y`,
}

// oddName draws names that a database takes: no zero byte, not more than 63 bytes, not PostgreSQL's own.
func oddName() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		name := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(oddParts), rapid.StringN(1, 4, -1)), 1, 12).Draw(t, "parts"), "")
		name = strings.ReplaceAll(name, "\x00", "")
		for len(name) > 63 {
			_, size := utf8.DecodeLastRuneInString(name)
			name = name[:len(name)-size]
		}
		if name == "" || strings.HasPrefix(name, "pg_") || name == "public" || name == "information_schema" {
			return "x" + name
		}
		return name
	})
}

// identifier and text are the test's own way to write names.
func identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// oddPreset reads a table of jobs by name, with all that a preset may have.
var oddPreset = driver.SQL{
	Query: `SELECT w.queue, w.lookahead, count(j.queue) AS ready, count(j.queue) > 0 AS known
		FROM json_to_recordset(@wants) AS w(queue text, lookahead float8) LEFT JOIN {schema}jobs AS j USING (queue)
		WHERE @limit::bigint >= 0 AND @running_max_age::float8 >= 0 GROUP BY 1, 2`,
	Activity: `SELECT w.queue, w.lookahead, count(j.queue) AS ready FROM json_to_recordset(@wants) AS w(queue text, lookahead float8)
		LEFT JOIN {schema}jobs AS j USING (queue) WHERE @limit::bigint >= 0 AND @running_max_age::float8 >= 0 GROUP BY 1, 2`,
	Bell: &driver.Bell{
		Preset: "odd", Queue: "TG_ARGV[0]",
		Tables: []driver.BellTable{{
			Each:   "SELECT 'jobs' AS name, queue FROM {schema}jobs LIMIT 1",
			Insert: "NEW.queue <> '%'", Update: "NEW.queue <> OLD.queue",
		}},
	},
}

// Whatever a schema, a queue or a channel is called, it is read and listened to by that very name, and nothing else
// happens. What is printed for a database administrator to run does what it says, and no more.
func TestNamesAreNeverSQL(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, "CREATE TABLE canary (n int)", "INSERT INTO canary VALUES (7)")
	rapid.Check(t, func(rt *rapid.T) {
		schema := oddName().Draw(rt, "schema")
		queues := rapid.SliceOfNDistinct(oddName(), 1, 4, rapid.ID[string]).Draw(rt, "queues")
		own := identifier(schema)
		run(t, conn, "CREATE SCHEMA "+own, "CREATE TABLE "+own+".jobs (queue text)")
		defer func() {
			_, _ = conn.Exec(context.Background(), "ROLLBACK; DROP SCHEMA "+own+" CASCADE") // also after a failure
		}()
		insert := func(queue string, n int) {
			for range n {
				if _, err := conn.Exec(context.Background(), "INSERT INTO "+own+".jobs VALUES ($1)", queue); err != nil {
					rt.Fatalf("%q: %v", queue, err)
				}
			}
		}
		var want []driver.Queue
		req := driver.Request{}
		for i, queue := range queues {
			insert(queue, i)
			req.Wants = append(req.Wants, driver.Want{Queue: queue})
			want = append(want, driver.Queue{Name: queue, Ready: int64(i)})
		}
		engine, err := postgres.Open(postgres.Config{URL: always(dsn), Schema: schema, SQL: oddPreset, Timeout: patience})
		if err != nil {
			rt.Fatalf("schema %q: %v", schema, err)
		}
		defer engine.Close()
		for _, req.Activity = range []bool{true, false} {
			compareReady(rt, engine, req, want)
		}
		if _, err := engine.Examine(t.Context()); err != nil {
			rt.Errorf("Examine in schema %q: %v", schema, err)
		}
		installOdd(rt, conn, schema, queues[0], insert)
		var intact bool
		if err := conn.QueryRow(t.Context(), "SELECT count(*) = 1 AND min(n) = 7 FROM public.canary").Scan(&intact); err != nil || !intact {
			rt.Fatalf("the canary: %t, %v", intact, err)
		}
	})
}

func compareReady(rt *rapid.T, engine *postgres.Engine, req driver.Request, want []driver.Queue) {
	got, err := engine.Read(context.Background(), req)
	if err != nil {
		rt.Fatalf("%q: %v", req.Wants, err)
	}
	for i := range got.Queues {
		got.Queues[i].Known = false // activity says nothing of it
	}
	byName := func(a, b driver.Queue) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(got.Queues, byName)
	if diff := cmp.Diff(slices.SortedFunc(slices.Values(want), byName), got.Queues); diff != "" {
		rt.Errorf("read (-want +got):\n%s", diff)
	}
}

// installOdd runs what BellSQL and BellDropSQL print, where they print anything of the name.
func installOdd(rt *rapid.T, conn *pgx.Conn, schema, queue string, insert func(queue string, n int)) {
	install, err := postgres.BellSQL(oddPreset, schema)
	if err != nil {
		if !strings.ContainsFunc(schema, func(c rune) bool { return c < ' ' || c >= 0x7f && c < 0xa0 }) {
			rt.Errorf("schema %q: %v", schema, err)
		}
		return
	}
	drop, err := postgres.BellDropSQL(oddPreset, schema)
	if err != nil {
		rt.Fatal(err)
	}
	insert(queue, 1)
	for i, text := range []string{install, install, drop} {
		if _, err := conn.Exec(context.Background(), text); err != nil {
			rt.Fatalf("schema %q: %v, running:\n%s", schema, err, text)
		}
		var triggers int
		err := conn.QueryRow(context.Background(), `SELECT count(*) FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = tgrelid
			JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace WHERE nspname = $1 AND tgname LIKE 'leadsman%'`, schema).Scan(&triggers)
		if want := []int{2, 2, 0}[i]; err != nil || triggers != want {
			rt.Fatalf("schema %q: %d triggers, %v, want %d", schema, triggers, err, want)
		}
		insert(queue, 1)
	}
}

// A name that PostgreSQL would cut off, or read as another, is refused by what is said about it.
func TestNamesThatNoSchemaHasAreRefused(t *testing.T) {
	for _, schema := range []string{strings.Repeat("x", 64), strings.Repeat("é", 32), "a\x00b", "\xff"} {
		_, err := postgres.Open(postgres.Config{URL: always("postgres://localhost/x"), Schema: schema, SQL: static("SELECT 1")})
		if err == nil || !strings.Contains(err.Error(), "the schema's name") {
			t.Errorf("%.10q: %v", schema, err)
		}
		if _, err := postgres.BellSQL(oddPreset, schema); err == nil {
			t.Errorf("%.10q: trigger-sql prints it", schema)
		}
	}
}

// The hint that says how the bell is taken away is for copying into a shell.
func TestTheRemovalHintIsOneWordOfAShell(t *testing.T) {
	for schema, want := range map[string]string{"jobs": "jobs", "a b": "'a b'", `x'; rm -rf $HOME`: `'x'\''; rm -rf $HOME'`, "$(id)": "'$(id)'"} {
		text, err := postgres.BellSQL(oddPreset, schema)
		if hint := fmt.Sprintf("--schema %s --drop", want); err != nil || !strings.Contains(text, hint) {
			t.Errorf("%v, no %s in:\n%.3000s", err, hint, text)
		}
	}
}

// A channel is listened to by its very name, and a payload is a queue's name whatever is in it.
func TestChannelsAndPayloadsAreNeverSQL(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, "CREATE TABLE canary (n int)", "CREATE TABLE jobs (queue text, ready int)")
	preset := static("SELECT queue, ready FROM jobs")
	preset.Listen = &driver.Listen{Payload: driver.PayloadQueue}
	for len(preset.Listen.Channels) < 20 { // as many as there are seeds
		preset.Listen.Channels = append(preset.Listen.Channels, oddName().Example(len(preset.Listen.Channels)))
	}
	slices.Sort(preset.Listen.Channels)
	preset.Listen.Channels = slices.Compact(preset.Listen.Channels)
	ear := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: preset, Schema: `x"; DROP TABLE canary; --`}))
	ear.listens(t)
	for i, channel := range preset.Listen.Channels {
		channel = strings.ReplaceAll(channel, "{schema}", `x"; DROP TABLE canary; --`)
		queue := fmt.Sprintf("%d'; DROP TABLE canary; -- %q", i, channel)
		if _, err := conn.Exec(t.Context(), "SELECT pg_notify($1, $2)", channel, queue); err != nil {
			t.Fatalf("channel %q: %v", channel, err)
		}
		ear.wait(t, fmt.Sprintf("channel %q is heard", channel), func(s seen) bool { return s.signals[queue] > 0 })
	}
	if n := number(t, conn, "SELECT count(*) FROM canary"); n != 0 {
		t.Error("the canary has changed")
	}
}
