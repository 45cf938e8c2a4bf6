package delayedjob_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/delayedjob"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

func TestPostgresQueriesAreTheReviewedTexts(t *testing.T) {
	for _, layout := range delayedjob.Preset.Postgres.Layouts {
		sqltest.Golden(t, filepath.Join("testdata", fmt.Sprintf("postgres_%d.golden.sql", layout.From)), layout.Query)
	}
}

func TestTheDocumentedGrantSuffices(t *testing.T) {
	sqltest.Grants(t, *delayedjob.Preset.Postgres, newFixture)
}

func TestReadsTheSourcesSchema(t *testing.T) {
	sqltest.InASchema(t, *delayedjob.Preset.Postgres, newFixture)
}

// Case 58: the columns say UTC and no zone, and the database is elsewhere.
func TestTheZoneOfTheDatabaseChangesNothing(t *testing.T) {
	for name, columnType := range map[string]string{"without zone": "timestamp(6)", "with zone": "timestamptz"} {
		t.Run(name, func(t *testing.T) {
			url := storagetest.Postgres(t)
			f := newFixture(sqltest.Postgres(t, url))
			f.db.Exec("SET TimeZone = 'UTC'")
			for _, column := range []string{"run_at", "locked_at", "failed_at"} {
				f.db.Exec("ALTER TABLE delayed_jobs ALTER COLUMN " + column + " TYPE " + columnType)
			}
			f.db.Exec("DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET TimeZone = ''Europe/Berlin'''; END $$")
			f.Schedule("mail", 1, -10*time.Minute)
			f.Schedule("mail", 1, 30*time.Minute)
			f.Orphan("mail", 1, 210*time.Minute)
			got := sqltest.ReadQueue(t, sqltest.OpenPostgres(t, *delayedjob.Preset.Postgres, url, ""), "mail")
			if diff := cmp.Diff(driver.Queue{Name: "mail", Known: true, Ready: 1, Scheduled: 1, Running: 1}, got, counts); diff != "" {
				t.Error(diff)
			}
			sqltest.Near(t, "oldest", got.Oldest, 10*time.Minute)
			sqltest.Near(t, "next due", got.NextDue, 30*time.Minute)
		})
	}
}

// Compared with each other, such times would be off by the zone.
func TestTimesOfDifferentTypesAreASchemaError(t *testing.T) {
	url := storagetest.Postgres(t)
	f := newFixture(sqltest.Postgres(t, url))
	f.db.Exec("ALTER TABLE delayed_jobs ALTER COLUMN locked_at TYPE timestamptz")
	_, err := sqltest.OpenPostgres(t, *delayedjob.Preset.Postgres, url, "").
		Read(t.Context(), driver.Request{Wants: []driver.Want{{Queue: "mail"}}})
	var known *driver.Error
	if !errors.As(err, &known) || known.Kind != driver.Schema {
		t.Errorf("got %v, want a schema error", err)
	}
}

func TestAJobThatNeverComesIsScheduled(t *testing.T) {
	url := storagetest.Postgres(t)
	f := newFixture(sqltest.Postgres(t, url))
	f.add("mail", 1, 0, map[string]any{"run_at": sqltest.Expr("'infinity'")})
	got := sqltest.ReadQueue(t, sqltest.OpenPostgres(t, *delayedjob.Preset.Postgres, url, ""), "mail")
	if got.Ready != 0 || got.Scheduled != 1 || got.NextDue < 365*24*time.Hour {
		t.Errorf("got %+v", got)
	}
}

// There is no index to probe: what can be had is one pass for all that is asked.
func TestEachReadIsOnePassOverTheTable(t *testing.T) {
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	f := newFixture(db)
	f.add("mail", 150_000, -time.Minute, nil)
	f.add(nil, 50_000, time.Hour, nil)
	db.Exec("VACUUM ANALYZE delayed_jobs")
	for name, wants := range map[string]string{
		"one queue":        `[{"queue": "mail", "lookahead": 0}]`,
		"three lookaheads": `[{"queue": "mail", "lookahead": 0}, {"queue": "mail", "lookahead": 60}, {"queue": null, "lookahead": 3600}]`,
		"1,000 absent":     sqltest.AbsentWants(1000),
		"every queue":      `[{"queue": null, "lookahead": 0}]`,
	} {
		cost := sqltest.Explain(db, delayedjob.Preset.Postgres.Layouts[0].Query, wants, 1000, "delayed_jobs")
		if diff := cmp.Diff(map[string]int{"Seq Scan": 1}, cost.Loops); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
