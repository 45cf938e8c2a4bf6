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
	"github.com/leadsman/leadsman/storage/storagetest"
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
	storagetest.Run(t, storagetest.Harness{
		Open: func(t *testing.T) (driver.Reader, storagetest.Fixture) {
			dsn := storagetest.Postgres(t)
			f := newFixture(t, release, dsn, schema)
			return open(t, dsn, ""), f
		},
		OpenBare: func(t *testing.T) driver.Reader { return open(t, storagetest.Postgres(t), "") },
		Abilities: storagetest.Abilities{
			Push: driver.ModeListen, Everything: true, Lookahead: true, Retries: true, Orphans: true,
		},
	})
}

func start(t *testing.T) (*fixture, *postgres.Engine, string) {
	t.Helper()
	dsn := storagetest.Postgres(t)
	return newFixture(t, newest, dsn, schema), engine(t, dsn, ""), dsn
}

// expect reads every queue and compares them, but for their ages.
func expect(t *testing.T, e *postgres.Engine, want ...driver.Queue) {
	t.Helper()
	reading, err := e.Read(t.Context(), driver.Request{Wants: []driver.Want{{}}})
	if err != nil {
		t.Fatal(err)
	}
	ages := cmpopts.IgnoreFields(driver.Queue{}, "Oldest", "NextDue")
	byName := cmpopts.SortSlices(func(a, b driver.Queue) bool { return a.Name < b.Name })
	if diff := cmp.Diff(want, reading.Queues, ages, byName); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Case 61.
func TestOnlyWhatAWorkerCouldRunIsReady(t *testing.T) {
	f, e, _ := start(t)
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
	f, e, _ := start(t)
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
	f, e, _ := start(t)
	serial := map[string]any{"queueName": "serial"}
	f.add("mail", 2, serial)
	f.work("mail", 1, "hold")
	exec(t, f.pool, "UPDATE graphile_worker._private_jobs SET locked_at = now() - interval '5 hours' WHERE locked_at IS NOT NULL")
	expect(t, e, driver.Queue{Name: "mail", Known: true, Ready: 1})
}

// Case 56: with the privileges of the README the view shows all; the tables behind it hide every row from the same
// role, and that is an error and no zero.
func TestTheDocumentedGrantSufficesAndPolicyHidesNothing(t *testing.T) {
	f, _, dsn := start(t)
	limited := storagetest.Granted(t, dsn, "README.md")
	f.Insert("mail", 2)
	f.Run("images", 1)
	expect(t, engine(t, limited, ""),
		driver.Queue{Name: "images", Known: true, Running: 1},
		driver.Queue{Name: "mail", Known: true, Ready: 2})

	exec(t, f.pool, "ALTER VIEW graphile_worker.jobs SET (security_invoker = on)")
	exec(t, f.pool, "GRANT SELECT ON ALL TABLES IN SCHEMA graphile_worker TO leadsman")
	_, err := engine(t, limited, "").Read(t.Context(), driver.Request{Wants: []driver.Want{{}}})
	storagetest.ErrorSays(t, err, driver.Denied, "row-level security")
}

func TestAnotherSchemaIsReadWhereItIsNamed(t *testing.T) {
	dsn := storagetest.Postgres(t)
	f := newFixture(t, newest, dsn, "my_jobs")
	f.Insert("mail", 2)
	expect(t, engine(t, dsn, "my_jobs"), driver.Queue{Name: "mail", Known: true, Ready: 2})
	_, err := engine(t, dsn, "").Read(t.Context(), driver.Request{Wants: []driver.Want{{}}})
	storagetest.ErrorSays(t, err, driver.Schema, "not installed here")
}

func TestAReadIsOnePassHoweverManyAreWanted(t *testing.T) {
	f, e, dsn := start(t)
	f.Insert("mail", 1)
	f.Insert("images", 1)
	exec(t, f.pool, `INSERT INTO graphile_worker._private_jobs (task_id, run_at, payload)
		SELECT 1 + g % 2, now() - g * interval '1 ms', '{}' FROM generate_series(1, 200000) g`)
	exec(t, f.pool, "VACUUM ANALYZE graphile_worker._private_jobs")
	wants := []string{}
	for _, n := range []int{1, 500} {
		for len(wants) < n {
			wants = append(wants, `{"queue": "mail", "lookahead": 0}`)
		}
		c := storagetest.Explain(t, dsn, e.Query(), "["+strings.Join(wants, ",")+"]", 1000, "_private_jobs")
		if len(c.Scans) != 1 || c.Pages > 10_000 {
			t.Errorf("%d wants: looked at %d pages by %q, want one pass", n, c.Pages, c.Scans)
		}
	}
}
