package laravel_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/laravel"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// A reservation that has expired makes a job ready, so that jobs without a worker are never orphans: the suite's ability
// is left out.
var abilities = storagetest.Abilities{Everything: true, Lookahead: true, Retries: true}

func TestLaravelOnPostgresKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.PostgresHarness(*laravel.Preset.Postgres, newFixture, abilities))
}

func TestLaravelOnSQLiteKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.SQLiteHarness(*laravel.Preset.SQLite, newFixture, abilities))
}

// onBoth runs a test on both engines.
func onBoth(t *testing.T, test func(*testing.T, fixture, driver.Reader)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		url := storagetest.Postgres(t)
		test(t, newFixture(sqltest.Postgres(t, url)), sqltest.OpenPostgres(t, *laravel.Preset.Postgres, url, ""))
	})
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobs.db")
		test(t, newFixture(sqltest.SQLite(t, path)), sqltest.OpenSQLite(t, *laravel.Preset.SQLite, path))
	})
}

var counts = cmpopts.IgnoreFields(driver.Queue{}, "Oldest", "NextDue")

func TestAJobIsReadyAgainAfterRetryAfter(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture, engine driver.Reader) {
		f.Orphan("mail", 3, 10*time.Minute)
		f.Orphan("mail", 2, 30*time.Second)
		got := sqltest.ReadQueue(t, engine, "mail")
		if diff := cmp.Diff(driver.Queue{Name: "mail", Known: true, Ready: 3, Running: 2}, got, counts); diff != "" {
			t.Error(diff)
		}
		sqltest.Near(t, "oldest", got.Oldest, 510*time.Second) // since the reservation expired
	})
}

// However long the queue of what is due later: it must not hide the one job that is due.
func TestOneReadyJobShowsBehindMoreScheduledOnesThanTheLimit(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture, engine driver.Reader) {
		f.Schedule("mail", 5000, time.Hour)
		f.Run("mail", 1)
		f.Schedule("mail", 1, -time.Minute)
		got := sqltest.Read(t, engine, 100, driver.Want{Queue: "mail"})[0]
		want := driver.Queue{Name: "mail", Known: true, Ready: 1, Running: 1, Scheduled: 100, Saturated: true}
		if diff := cmp.Diff(want, got, counts); diff != "" {
			t.Error(diff)
		}
		sqltest.Near(t, "next due", got.NextDue, time.Hour)
	})
}

func TestATableOfAnotherShapeIsASchemaError(t *testing.T) {
	onBoth(t, func(t *testing.T, f fixture, engine driver.Reader) {
		f.db.Exec("ALTER TABLE jobs RENAME COLUMN reserved_at TO reserved")
		_, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: "mail"}}})
		var known *driver.Error
		if !errors.As(err, &known) || known.Kind != driver.Schema {
			t.Errorf("got %v, want a schema error", err)
		}
	})
}

func TestPostgresQueryIsTheReviewedText(t *testing.T) {
	for file, schema := range map[string]string{"postgres.golden.sql": "", "postgres_schema.golden.sql": `My "Jobs"`} {
		engine := sqltest.OpenPostgres(t, *laravel.Preset.Postgres, "host=127.0.0.1", schema)
		sqltest.Golden(t, filepath.Join("testdata", file), engine.Query())
	}
}

func TestReadsTheSourcesSchema(t *testing.T) {
	sqltest.InASchema(t, *laravel.Preset.Postgres, newFixture)
}

func TestTheDocumentedGrantSuffices(t *testing.T) {
	sqltest.Grants(t, *laravel.Preset.Postgres, newFixture)
}

func TestPostgresReadsWalkTheIndexAndStopAtTheLimit(t *testing.T) {
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	f := newFixture(db)
	f.add("big", 200_000, -time.Minute, nil)
	f.db.Insert("jobs", 1000, map[string]any{
		"queue": sqltest.Expr("'q' || i % 100"), "payload": "{}", "attempts": 0, "available_at": after(0), "created_at": after(0),
	})
	bounded := func(when string) {
		t.Helper()
		for _, tt := range []struct {
			name, wants string
			limit, most int
		}{
			{"one queue", `[{"queue": "big", "lookahead": 0}]`, 1, 50},
			{"one queue", `[{"queue": "big", "lookahead": 0}]`, 1000, 400},
			{"1,000 absent queues", sqltest.AbsentWants(1000), 1000, 1000 * 10},
			{"all of 101 queues", `[{"queue": null, "lookahead": 0}]`, 1, 101 * 30},
		} {
			cost := sqltest.Explain(db, laravel.Preset.Postgres.Query, tt.wants, tt.limit, "jobs")
			if cost.Buffers > tt.most {
				t.Errorf("%s: %s at limit %d looked at %d pages, want at most %d", when, tt.name, tt.limit, cost.Buffers, tt.most)
			}
			notTheIndex := func(scan string) bool {
				return !strings.HasPrefix(scan, "Index") || !strings.HasSuffix(scan, " jobs_queue_index")
			}
			if i := slices.IndexFunc(cost.Scans, notTheIndex); i >= 0 || len(cost.Scans) == 0 {
				t.Errorf("%s: %s did %q", when, tt.name, cost.Scans)
			}
		}
	}
	bounded("never analyzed")
	db.Exec("VACUUM ANALYZE jobs")
	bounded("analyzed")
}

func TestSQLiteReadsWalkTheIndex(t *testing.T) {
	db := sqltest.SQLite(t, filepath.Join(t.TempDir(), "jobs.db"))
	newFixture(db)
	walks := 0
	for _, step := range sqltest.QueryPlan(db, laravel.Preset.SQLite.Query) {
		switch {
		case strings.HasPrefix(step, "SCAN jobs"), step == "SCAN job":
			t.Errorf("a scan: %s", step)
		case strings.Contains(step, "jobs_queue_index"):
			walks++
		}
	}
	if walks == 0 {
		t.Error("the plan does not use the index")
	}
}
