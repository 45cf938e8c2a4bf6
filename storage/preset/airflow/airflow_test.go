package airflow_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/airflow"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

func TestAirflowKeepsTheContracts(t *testing.T) {
	storagetest.Run(t, sqltest.PostgresHarness(*airflow.Preset.Postgres, newFixture,
		storagetest.Abilities{Everything: true, Retries: true, Orphans: true, Undated: true}))
}

// Case 62.
func TestTasksOfOtherExecutorsDoNotCount(t *testing.T) {
	url := storagetest.Postgres(t)
	f := newFixture(sqltest.Postgres(t, url))
	engine := sqltest.OpenPostgres(t, *airflow.Preset.Postgres, url, "")
	task := func(queue, executor any) {
		f.add(queue, 1, "queued", map[string]any{"executor": executor, "queued_dttm": ago(0)})
	}
	task("default", "KubernetesExecutor")
	task("kubernetes", nil)
	task("default", nil)
	want := []driver.Queue{{Name: "default", Known: true, Ready: 1}}
	uncompared := cmpopts.IgnoreFields(driver.Queue{}, "Oldest")
	if diff := cmp.Diff(want, sqltest.Read(t, engine, 0, driver.Want{}), uncompared); diff != "" {
		t.Errorf("all queues: %s", diff)
	}
	if diff := cmp.Diff(want, sqltest.Read(t, engine, 0, driver.Want{Queue: "default"}), uncompared); diff != "" {
		t.Errorf("the queue: %s", diff)
	}
	if got := sqltest.ReadQueue(t, engine, "kubernetes").Ready; got != 1 {
		t.Errorf("the queue that is named: ready = %d, want 1", got)
	}

	task("default", "airflow.providers.cncf.kubernetes.executors.kubernetes_executor.KubernetesExecutor")
	task("default", "LocalExecutor")
	task("default", "CeleryExecutor")
	task("default", "airflow.providers.celery.executors.celery_executor.CeleryExecutor")
	task("default", "team_executors.OurKubernetesExecutor")
	if got := sqltest.ReadQueue(t, engine, "default").Ready; got != 4 {
		t.Errorf("ready = %d, want 4: one by default, two of Celery's, and one of an executor that we do not know", got)
	}
}

func TestEachVersionIsReadByItsColumns(t *testing.T) {
	for name, columns := range map[string]string{"2.0": columns2, "2.10": columns210, "3.0": columns3} {
		t.Run(name, func(t *testing.T) {
			url := storagetest.Postgres(t)
			f := newFixtureOf(sqltest.Postgres(t, url), columns)
			f.queued("default", 2, time.Hour)
			f.queued(nil, 1, 10*time.Minute)
			f.add("default", 3, "running", map[string]any{"start_date": ago(time.Hour)})
			f.add("default", 4, "success", map[string]any{"start_date": ago(time.Hour)})
			got := sqltest.ReadQueue(t, sqltest.OpenPostgres(t, *airflow.Preset.Postgres, url, ""), "default")
			sqltest.Near(t, "oldest", got.Oldest, time.Hour)
			got.Oldest = 0
			if diff := cmp.Diff(driver.Queue{Name: "default", Known: true, Ready: 3, Running: 3}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAHeartbeatKeepsALongTaskRunning(t *testing.T) {
	url := storagetest.Postgres(t)
	f := newFixture(sqltest.Postgres(t, url))
	const long = 40 * 24 * time.Hour
	f.add("default", 2, "running", map[string]any{"start_date": ago(long), "last_heartbeat_at": ago(time.Second)})
	f.add("default", 5133, "running", map[string]any{"start_date": ago(long), "last_heartbeat_at": ago(long)}) // case 60
	got := sqltest.ReadQueue(t, sqltest.OpenPostgres(t, *airflow.Preset.Postgres, url, ""), "default")
	if got.Running != 2 {
		t.Errorf("running = %d, want the 2 with a heartbeat", got.Running)
	}
}

func TestAnUnknownVersionIsAnErrorThatNamesIt(t *testing.T) {
	url := storagetest.Postgres(t)
	sqltest.Postgres(t, url).Exec("CREATE TABLE task_instance (id integer, state text)")
	engine := sqltest.OpenPostgres(t, *airflow.Preset.Postgres, url, "")
	_, err := engine.Read(t.Context(), driver.Request{Wants: []driver.Want{{}}})
	var known *driver.Error
	if !errors.As(err, &known) || known.Kind != driver.Schema {
		t.Fatalf("got %v, want a schema error", err)
	}
	for _, part := range []string{"0", "200", "399"} {
		if !strings.Contains(known.Message, part) {
			t.Errorf("%q does not say %q", known.Message, part)
		}
	}
}

func TestPostgresQueriesAreTheReviewedTexts(t *testing.T) {
	for _, layout := range airflow.Preset.Postgres.Layouts {
		sqltest.Golden(t, filepath.Join("testdata", fmt.Sprintf("postgres_%d.golden.sql", layout.From)), layout.Query)
	}
}

func TestReadsTheSourcesSchema(t *testing.T) {
	sqltest.InASchema(t, *airflow.Preset.Postgres, newFixture)
}

func TestTheDocumentedGrantSuffices(t *testing.T) {
	sqltest.Grants(t, *airflow.Preset.Postgres, newFixture)
}

func TestReadsTouchNothingThatIsDone(t *testing.T) {
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	f := newFixture(db)
	f.Finish("default", 200_000)
	f.Insert("default", 300)
	f.Run("default", 100)
	bounded := func(when string) {
		t.Helper()
		for name, wants := range map[string]string{
			"one queue":           `[{"queue": "default", "lookahead": 0}]`,
			"all queues":          `[{"queue": null, "lookahead": 0}]`,
			"1,000 absent queues": sqltest.AbsentWants(1000),
		} {
			for _, layout := range airflow.Preset.Postgres.Layouts {
				cost := sqltest.Explain(db, layout.Query, wants, 1000, "task_instance")
				if diff := cmp.Diff(map[string]int{"Index Scan ti_state": 1}, cost.Loops); diff != "" {
					t.Errorf("%s: %s of version %d: %s", when, name, layout.From, diff)
				}
				if cost.Buffers > 200 {
					t.Errorf("%s: %s of version %d looked at %d pages", when, name, layout.From, cost.Buffers)
				}
			}
		}
	}
	bounded("never analyzed")
	db.Exec("VACUUM ANALYZE task_instance")
	bounded("analyzed")
}
