//go:build libraries

package graphileworker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/preset/graphileworker"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// The releases under test, by their names in test/libraries.
const (
	newest = "graphile-worker"
	oldest = "graphile-worker-0.16"
)

const schema = "graphile_worker"

func TestGraphileWorkerKeepsTheContracts(t *testing.T) { conform(t, newest) }

func TestGraphileWorker016KeepsTheContracts(t *testing.T) { conform(t, oldest) }

func conform(t *testing.T, release string) {
	t.Helper()
	storagetest.Run(t, sqltest.PostgresHarness(*graphileworker.Preset.Postgres,
		func(db *sqltest.DB) *fixture { return newFixture(db, release, schema) },
		storagetest.Abilities{Push: driver.ModeListen, Everything: true, Lookahead: true, Retries: true, Orphans: true}))
}

func start(t *testing.T) (*fixture, *postgres.Engine) {
	t.Helper()
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	return newFixture(db, newest, schema), open(t, db.URL(), "")
}

// expect reads every queue and compares them, but for their ages.
func expect(t *testing.T, e *postgres.Engine, want ...driver.Queue) {
	t.Helper()
	ages := cmpopts.IgnoreFields(driver.Queue{}, "Oldest", "NextDue")
	byName := cmpopts.SortSlices(func(a, b driver.Queue) bool { return a.Name < b.Name })
	if diff := cmp.Diff(want, sqltest.Read(t, e, 0, driver.Want{}), ages, byName); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Case 61.
func TestOnlyWhatAWorkerCouldRunIsReady(t *testing.T) {
	f, e := start(t)
	f.Finish("mail", 1)
	f.Fail("mail", 1, time.Hour)
	f.Cancel("mail", 1) // exhausted
	f.Run("mail", 1)
	f.Insert("mail", 1)
	f.Schedule("mail", 1, time.Hour)
	f.add("mail", 5, map[string]any{"queueName": "serial"})
	expect(t, e, driver.Queue{Name: "mail", Known: true, Ready: 2, Running: 1, Scheduled: 2})
}

func TestANamedQueueCountsOnceAndNotWhileOneOfItRuns(t *testing.T) {
	f, e := start(t)
	serial := map[string]any{"queueName": "account 7"}
	f.add("import", 5, serial)
	f.add("import", 5, map[string]any{"queueName": "account 8"})
	f.add("report", 3, serial)
	f.add("import", 2, nil)
	expect(t, e,
		driver.Queue{Name: "import", Known: true, Ready: 4},
		driver.Queue{Name: "report", Known: true, Ready: 1})

	f.work("report", 1, "hold") // locks account 7 for the other task as well
	expect(t, e,
		driver.Queue{Name: "import", Known: true, Ready: 3},
		driver.Queue{Name: "report", Known: true, Running: 1})
}

func TestAnOrphanOfANamedQueueDoesNotHoldItForEver(t *testing.T) {
	f, e := start(t)
	serial := map[string]any{"queueName": "serial"}
	f.add("mail", 2, serial)
	f.work("mail", 1, "hold")
	f.db.Exec("UPDATE graphile_worker._private_jobs SET locked_at = now() - interval '5 hours' WHERE locked_at IS NOT NULL")
	expect(t, e, driver.Queue{Name: "mail", Known: true, Ready: 1})
}

// Case 56: with the privileges of the README the view shows all; the tables behind it hide every row from the same
// role, and that is an error and no zero.
func TestTheDocumentedGrantSufficesAndPolicyHidesNothing(t *testing.T) {
	f, _ := start(t)
	limited := sqltest.Granted(t, f.db)
	f.Insert("mail", 2)
	f.Run("images", 1)
	expect(t, open(t, limited, ""),
		driver.Queue{Name: "images", Known: true, Running: 1},
		driver.Queue{Name: "mail", Known: true, Ready: 2})

	f.db.Exec("ALTER VIEW graphile_worker.jobs SET (security_invoker = on)")
	f.db.Exec("GRANT SELECT ON ALL TABLES IN SCHEMA graphile_worker TO leadsman")
	sqltest.Fails(t, open(t, limited, ""), driver.Denied, "row-level security")
}

func TestAnotherSchemaIsReadWhereItIsNamed(t *testing.T) {
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	newFixture(db, newest, "my_jobs").Insert("mail", 2)
	expect(t, open(t, db.URL(), "my_jobs"), driver.Queue{Name: "mail", Known: true, Ready: 2})
	sqltest.Fails(t, open(t, db.URL(), ""), driver.Schema, "not installed here")
}

func TestAReadIsOnePassHoweverManyAreWanted(t *testing.T) {
	f, _ := start(t)
	f.Insert("mail", 1)
	f.Insert("images", 1)
	f.db.Exec("SET search_path = graphile_worker")
	query := graphileworker.Preset.Postgres.Layouts[0].Query
	f.db.Exec(`INSERT INTO graphile_worker._private_jobs (task_id, run_at, payload)
		SELECT 1 + g % 2, now() - g * interval '1 ms', '{}' FROM generate_series(1, 200000) g`)
	f.db.Exec("VACUUM ANALYZE graphile_worker._private_jobs")
	wants := []string{}
	for _, n := range []int{1, 500} {
		for len(wants) < n {
			wants = append(wants, `{"queue": "mail", "lookahead": 0}`)
		}
		c := sqltest.Explain(f.db, query, "["+strings.Join(wants, ",")+"]", 1000, "_private_jobs")
		if len(c.Scans) != 1 || c.Loops[c.Scans[0]] != 1 || c.Buffers > 10_000 {
			t.Errorf("%d wants: looked at %d pages by %v, want one pass", n, c.Buffers, c.Loops)
		}
	}
}
