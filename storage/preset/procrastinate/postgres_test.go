package procrastinate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/preset/procrastinate"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

var preset = *procrastinate.Preset.Postgres

func TestQueriesAreTheReviewedTexts(t *testing.T) {
	texts := sqltest.OpenPostgres(t, preset, "host=127.0.0.1", `My "Jobs"`).Queries()
	sqltest.Golden(t, "testdata/postgres_3.0.golden.sql", texts[0])
	sqltest.Golden(t, "testdata/postgres_3.10.golden.sql", texts[1])
}

func TestProcrastinateKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.PostgresHarness(preset, install, storagetest.Abilities{
		Push: driver.ModeListen, Everything: true, Lookahead: true, Paused: true, Retries: true, Orphans: true,
	}))
}

func TestProcrastinate39KeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.PostgresHarness(preset, install39, storagetest.Abilities{
		Push: driver.ModeListen, Everything: true, Lookahead: true, Retries: true, Orphans: true,
	}))
}

func TestProcrastinateInASchemaOfItsOwn(t *testing.T) { sqltest.InASchema(t, preset, install) }

func TestTheDocumentedGrantSuffices(t *testing.T) { sqltest.Grants(t, preset, install) }

func TestAnOlderSchemaIsAnError(t *testing.T) {
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	install39(db)
	db.Exec("ALTER TABLE procrastinate_jobs DROP worker_id")
	sqltest.Fails(t, sqltest.OpenPostgres(t, preset, db.URL(), ""), driver.Schema, "version 1", "update the job library")
}

func start(t *testing.T) (fixture, *postgres.Engine) {
	t.Helper()
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	return install(db), sqltest.OpenPostgres(t, preset, db.URL(), "")
}

// counts compares a queue but for its ages.
func counts(t *testing.T, e *postgres.Engine, want driver.Queue) {
	t.Helper()
	got := sqltest.ReadQueue(t, e, want.Name)
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(driver.Queue{}, "Oldest", "NextDue")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestJobsOfOneLockAreReadyOneAtATime(t *testing.T) {
	f, e := start(t)
	f.add("mail", 5, map[string]any{"lock": "a"})
	f.add("mail", 5, map[string]any{"lock": "b"})
	f.add("images", 2, map[string]any{"lock": "b"})
	f.Insert("mail", 1)
	counts(t, e, driver.Queue{Name: "mail", Known: true, Ready: 3})
	counts(t, e, driver.Queue{Name: "images", Known: true})

	f.DB.Insert("procrastinate_workers", 1, map[string]any{"last_heartbeat": from(0)})
	f.add("images", 1, map[string]any{"lock": "a", "status": "doing", "worker_id": 1})
	counts(t, e, driver.Queue{Name: "mail", Known: true, Ready: 2})
	counts(t, e, driver.Queue{Name: "images", Known: true, Running: 1})
}

func TestAWaitingJobHoldsItsLockUnlessThatIsAMutex(t *testing.T) {
	f, e := start(t)
	f.add("mail", 1, map[string]any{"lock": "a", "scheduled_at": from(time.Hour), "priority": 9})
	f.add("mail", 3, map[string]any{"lock": "a"})
	counts(t, e, driver.Queue{Name: "mail", Known: true, Scheduled: 1})
	f.Exec("UPDATE procrastinate_jobs SET lock_mode = 'mutex' WHERE priority = 9")
	counts(t, e, driver.Queue{Name: "mail", Known: true, Ready: 1, Scheduled: 1})
	got := sqltest.Read(t, e, 0, driver.Want{Queue: "mail", Lookahead: 2 * time.Hour})[0]
	if got.Ready != 1 || got.Scheduled != 0 {
		t.Errorf("with a lookahead beyond it: %+v, want it to be the one that is ready", got)
	}
}

func TestAnUnscheduledJobWaitsSinceItWasDeferred(t *testing.T) {
	f, e := start(t)
	f.Insert("mail", 2)
	f.Exec("UPDATE procrastinate_events SET at = now() - interval '2 hours' WHERE job_id = 1")
	sqltest.Near(t, "oldest", sqltest.ReadQueue(t, e, "mail").Oldest, 2*time.Hour)
	f.Schedule("mail", 1, -3*time.Hour)
	sqltest.Near(t, "oldest", sqltest.ReadQueue(t, e, "mail").Oldest, 3*time.Hour)
	f.Exec("DELETE FROM procrastinate_events; DELETE FROM procrastinate_jobs WHERE scheduled_at IS NOT NULL")
	if got := sqltest.ReadQueue(t, e, "mail"); got.Ready != 2 || got.Oldest != 0 {
		t.Errorf("without a log of events: %+v, want 2 ready of unknown age", got)
	}
}

// Case 60.
func TestAJobIsRunningAsLongAsItsWorkerBeats(t *testing.T) {
	f, e := start(t)
	f.Orphan("mail", 1, 4*time.Minute) // late
	f.Orphan("mail", 2, 6*time.Minute) // dead
	f.Orphan("mail", 4, time.Second)
	f.Exec("DELETE FROM procrastinate_workers WHERE id = 3") // as other workers do
	counts(t, e, driver.Queue{Name: "mail", Known: true, Running: 1})
}

func TestAReadPassesOverWaitingJobsOnlyHoweverManyAreWanted(t *testing.T) {
	f, _ := start(t)
	f.Finish("mail", 200_000)
	f.Insert("mail", 2000)
	f.add("mail", 100, map[string]any{"lock": "a"})
	f.Run("mail", 3)
	f.Exec("VACUUM ANALYZE procrastinate_jobs")
	query := preset.Layouts[1].Query
	for _, wants := range []string{
		`[{"queue": "mail", "lookahead": 0}]`, `[{"queue": null, "lookahead": 0}]`,
		"[" + strings.Repeat(`{"queue": "mail", "lookahead": 0},`, 99) + `{"queue": null, "lookahead": 0}]`,
	} {
		if c := sqltest.Explain(f.DB, query, wants, 1000, "procrastinate_jobs"); c.Buffers > 1000 {
			t.Errorf("%.40s: looked at %d pages by %v", wants, c.Buffers, c.Loops)
		}
	}
	if c := sqltest.Explain(f.DB, query, sqltest.AbsentWants(1000), 1000); c.Buffers > 5000 {
		t.Errorf("1,000 names that nobody uses cost %d pages", c.Buffers)
	}
}
