package river_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/river"
	"github.com/leadsman/leadsman/storage/sqlite"
	"github.com/leadsman/leadsman/storage/storagetest"
)

func TestRiverOnSQLiteKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, storagetest.Harness{
		Open: func(t *testing.T) (driver.Reader, storagetest.Fixture) {
			path := filepath.Join(t.TempDir(), "river.db")
			fixture := storagetest.RiverSQLite(t, path)
			return openSQLite(t, path), fixture
		},
		OpenBare: func(t *testing.T) driver.Reader {
			path := filepath.Join(t.TempDir(), "bare.db")
			execSQLite(t, path, `CREATE TABLE other (id integer)`)
			return openSQLite(t, path)
		},
		Abilities: storagetest.Abilities{
			Push: driver.ModeFile, Everything: true, Lookahead: true, Paused: true, Retries: true, Orphans: true,
		},
	})
}

// openSQLite opens an engine whose timeout is for a loaded machine and the race detector.
func openSQLite(t *testing.T, path string) *sqlite.Engine {
	t.Helper()
	engine, err := sqlite.Open(sqlite.Config{Path: path, SQL: *river.Preset.SQLite, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// execSQLite writes past River, as a program in another language or a person would.
func execSQLite(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", sqlite.WriterDSN(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range statements {
		if _, err := db.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// readSQLite reads one queue.
func readSQLite(t *testing.T, path string, want driver.Want) driver.Queue {
	t.Helper()
	engine := openSQLite(t, path)
	defer engine.Close()
	reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{want}})
	if err != nil {
		t.Fatal(err)
	}
	return reading.Queues[0]
}

// River compares times as text; so what counts as due here must be what River's own fetch takes for due.
func TestSQLiteReadsTimesOfEveryFormAsRiverDoes(t *testing.T) {
	now := time.Now().UTC()
	for name, format := range map[string]string{
		"river":             "2006-01-02 15:04:05.000",
		"CURRENT_TIMESTAMP": "2006-01-02 15:04:05",
		"Go's String":       "2006-01-02 15:04:05.999999999 -0700 MST",
		"with zone":         "2006-01-02 15:04:05.000+00:00",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "river.db")
			fixture := storagetest.RiverSQLite(t, path)
			fixture.Insert("other", 1)
			due, later := now.Add(-90*time.Second), now.Add(time.Hour)
			execSQLite(t, path,
				`INSERT INTO river_job (kind, queue, state, priority, scheduled_at)
				 VALUES ('k', 'mail', 'available', 4, '`+due.Format(format)+`'), ('k', 'mail', 'scheduled', 2, '`+later.Format(format)+`')`)

			got := readSQLite(t, path, driver.Want{Queue: "mail"})
			want := driver.Queue{Name: "mail", Known: true, Ready: 1, Scheduled: 1, Oldest: 90 * time.Second, NextDue: time.Hour}
			// The machine may be slow between now and the read; a wrong reading is off by hours or gone.
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(driver.Queue{}, "Oldest", "NextDue")); diff != "" {
				t.Error(diff)
			}
			if got.Oldest < 89*time.Second || got.Oldest > 10*time.Minute || got.NextDue > time.Hour || got.NextDue < 50*time.Minute {
				t.Errorf("oldest %s, next due %s; want about %s and %s", got.Oldest, got.NextDue, want.Oldest, want.NextDue)
			}
		})
	}
}

// River stamps a job to the nearest millisecond, which may be a moment after the clock that SQLite cuts to the
// millisecond: the read that follows a commit must not take the job for a future one.
func TestSQLiteCountsAJobAtOnceAfterItsInsert(t *testing.T) {
	path := filepath.Join(t.TempDir(), "river.db")
	fixture := storagetest.RiverSQLite(t, path)
	engine := openSQLite(t, path)
	defer engine.Close()
	for n := range 200 {
		fixture.Schedule("mail", 1, 0)
		reading, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: "mail"}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := reading.Queues[0].Ready; got != int64(n+1) {
			t.Fatalf("ready = %d right after insert %d: %+v", got, n+1, reading.Queues[0])
		}
	}
}

// The counts and probes must walk River's fetching index, or a long queue would be read whole once a second.
func TestSQLiteQueryScansNoTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "river.db")
	storagetest.RiverSQLite(t, path)
	db, err := sql.Open("sqlite", sqlite.WriterDSN(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for name, query := range map[string]string{"query": river.Preset.SQLite.Query, "activity": river.Preset.SQLite.Activity} {
		t.Run(name, func(t *testing.T) { scansNoTable(t, db, strings.ReplaceAll(query, "{schema}", "")) })
	}
}

func scansNoTable(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	steps, err := db.Query("EXPLAIN QUERY PLAN "+query, sql.Named("wants", "[]"), sql.Named("limit", 10), sql.Named("running_max_age", 1.0))
	if err != nil {
		t.Fatal(err)
	}
	defer steps.Close()
	probes := 0
	for steps.Next() {
		var id, parent, unused int
		var step string
		if err := steps.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasPrefix(step, "SCAN river_job"), strings.HasPrefix(step, "SCAN job"):
			t.Errorf("a scan: %s", step)
		case strings.Contains(step, "river_job_prioritized_fetching_index"):
			probes++
		}
	}
	if err := steps.Err(); err != nil || probes == 0 {
		t.Errorf("%d probes of the index in the plan, %v", probes, err)
	}
}
