package oban_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/oban"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

var preset = *oban.Preset.Postgres

func TestQueryIsTheReviewedText(t *testing.T) {
	sqltest.Golden(t, "testdata/postgres.golden.sql", sqltest.OpenPostgres(t, preset, "host=127.0.0.1", `My "Jobs"`).Query())
}

// The suite holds cases 59 (due jobs that no stager promoted) and 60 (orphans).
func TestObanKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.PostgresHarness(preset, install, storagetest.Abilities{
		Push: driver.ModeListen, Everything: true, Lookahead: true, Retries: true, Orphans: true,
	}))
}

func TestObanUnderAPrefix(t *testing.T) {
	sqltest.InASchema(t, preset, install)
}

func TestTheDocumentedGrantSuffices(t *testing.T) {
	sqltest.Grants(t, preset, install)
}

func TestReadKnowsEachVersionFrom9(t *testing.T) {
	for version := 9; version <= newest; version++ {
		url := storagetest.Postgres(t)
		f := installVersion(sqltest.Postgres(t, url), version)
		f.add("mail", 4, "available", map[string]any{"priority": sqltest.Expr("i - 1")})
		f.add("mail", 1, "cancelled", map[string]any{"priority": 0})
		if got := sqltest.ReadQueue(t, sqltest.OpenPostgres(t, preset, url, ""), "mail"); got.Ready != 4 {
			t.Errorf("version %d: got %+v, want 4 ready", version, got)
		}
	}
}

func TestReadTellsTheVersionByTheTablesComment(t *testing.T) {
	url := storagetest.Postgres(t)
	db := sqltest.Postgres(t, url)
	install(db).Insert("mail", 1)
	engine := sqltest.OpenPostgres(t, preset, url, "")
	db.Exec("COMMENT ON TABLE oban_jobs IS '99'")
	sqltest.Fails(t, engine, driver.Schema, "version 99: known are 9–14; update leadsman")
	db.Exec("COMMENT ON TABLE oban_jobs IS '8'")
	sqltest.Fails(t, engine, driver.Schema, "version 8: known are 9–14; update the job library")
	db.Exec("COMMENT ON TABLE oban_jobs IS 'jobs of ours'")
	sqltest.Fails(t, engine, driver.Schema, "not installed here", "no schema version")
	db.Exec("COMMENT ON TABLE oban_jobs IS NULL")
	sqltest.Fails(t, engine, driver.Schema, "not installed here", "no schema version")
	db.Exec("COMMENT ON TABLE oban_jobs IS '∞'")
	if got := sqltest.ReadQueue(t, engine, "mail"); got.Ready != 1 {
		t.Errorf("migrated by hand: got %+v, want 1 ready", got)
	}
}

func TestReadKnowsObanForPython(t *testing.T) {
	url := storagetest.Postgres(t)
	db := sqltest.Postgres(t, url)
	install(db).Insert("mail", 2)
	db.Exec("COMMENT ON TABLE oban_jobs IS NULL; CREATE UNLOGGED TABLE oban_producers (uuid uuid PRIMARY KEY)")
	if got := sqltest.ReadQueue(t, sqltest.OpenPostgres(t, preset, url, ""), "mail"); got.Ready != 2 {
		t.Errorf("got %+v, want 2 ready", got)
	}
}

// Case 58.
func TestReadTakesTimesForUTCWhateverTheDatabasesZone(t *testing.T) {
	url := storagetest.Postgres(t)
	db := sqltest.Postgres(t, url)
	db.Exec("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = ''Europe/Berlin''', current_database()); END $$")
	f := install(db)
	f.Schedule("mail", 1, -time.Minute)
	f.Schedule("mail", 1, time.Hour)
	f.Run("mail", 1)
	got := sqltest.ReadQueue(t, sqltest.OpenPostgres(t, preset, url, ""), "mail")
	sqltest.Near(t, "oldest", got.Oldest, time.Minute)
	sqltest.Near(t, "next due", got.NextDue, time.Hour)
	if got.Ready != 1 || got.Scheduled != 1 || got.Running != 1 {
		t.Errorf("got %+v, want 1 of each", got)
	}
}

func TestStatesCountAsOnlyWhatTheyAre(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	f.add("suspended", 1, "suspended", nil)
	f.add("discarded", 1, "discarded", nil)
	f.add("early", 2, "available", map[string]any{"scheduled_at": from(time.Hour)}) // Oban hands it out all the same
	engine := sqltest.OpenPostgres(t, preset, url, "")
	for _, want := range []driver.Queue{
		{Name: "suspended", Known: true}, {Name: "discarded", Known: true}, {Name: "early", Known: true, Ready: 2},
	} {
		if diff := cmp.Diff(want, sqltest.ReadQueue(t, engine, want.Name)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestReadsAreBoundedProbesOfObansIndex(t *testing.T) {
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	f := install(db)
	query := preset.Layouts[0].Query
	bounded := func(when string) {
		t.Helper()
		for limit, most := range map[int]int{1: 400, 1000: 3000} {
			cost := sqltest.Explain(db, query, `[{"queue": "big", "lookahead": 0}]`, limit, "oban_jobs")
			if cost.Buffers > most {
				t.Errorf("%s: limit %d looked at %d pages, want at most %d", when, limit, cost.Buffers, most)
			}
			for _, scan := range cost.Scans {
				if !strings.HasPrefix(scan, "Index") || !strings.HasSuffix(scan, "oban_jobs_state_queue_priority_scheduled_at_id_index") {
					t.Errorf("%s: limit %d did a %s", when, limit, scan)
				}
			}
		}
		if cost := sqltest.Explain(db, query, sqltest.AbsentWants(1000), 100_000); cost.Buffers > 1000*50 {
			t.Errorf("%s: 1,000 names that nobody uses cost %d pages", when, cost.Buffers)
		}
	}
	db.Exec("ALTER TABLE oban_jobs SET (autovacuum_enabled = off)")
	f.add("big", 100_000, "available", map[string]any{"scheduled_at": now + " - i * interval '1 second'"})
	f.add("big", 50_000, "completed", nil)
	f.add("big", 50_000, "scheduled", map[string]any{"scheduled_at": now + " + i * interval '1 second'"})
	bounded("never analyzed")
	db.Exec("VACUUM ANALYZE oban_jobs")
	bounded("analyzed")
}

func TestEachFormOfPayloadNamesItsQueue(t *testing.T) {
	url := storagetest.Postgres(t)
	f := install(sqltest.Postgres(t, url))
	engine := sqltest.OpenPostgres(t, preset, url, "")
	ctx, cancel := context.WithCancel(t.Context())
	signals, ended := make(signalChan, 100), make(chan error, 1)
	go func() { ended <- engine.Watch(ctx, signals) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	signals.await(t, "") // it listens
	for _, form := range []struct{ queue, payload string }{
		{"plain", `{"queue":"plain"}`},
		{"compressed", "Z:" + pack(t, `{"queue":"compressed"}`)},
		{"legacy", pack(t, `{"queue":"legacy"}`)},
		{"", "from tomorrow"},
	} {
		f.notify(form.payload)
		signals.await(t, form.queue)
	}
}

// pack is what Oban does to a payload of more than 512 bytes, and Oban for Python to each.
func pack(t *testing.T, json string) string {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write([]byte(json)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes())
}

// signalChan is a driver.Sink that passes signals on.
type signalChan chan string

func (c signalChan) Signal(queue string)      { c <- queue }
func (c signalChan) Push(driver.Mode, string) {}

// await takes the next signal, which must name the queue.
func (c signalChan) await(t *testing.T, queue string) {
	t.Helper()
	select {
	case got := <-c:
		if got != queue {
			t.Errorf("got a signal for %q, want %q", got, queue)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("no signal for %q", queue)
	}
}
