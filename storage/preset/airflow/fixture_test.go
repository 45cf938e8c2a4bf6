package airflow_test

import (
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// A fixture writes what Airflow's scheduler and workers write to its table of task instances.
type fixture struct {
	db   *sqltest.DB
	runs atomic.Int64
}

// The columns of each version that are read, their key and some more; the indexes are Airflow's.
const (
	commonColumns = `task_id character varying(250) NOT NULL, dag_id character varying(250) NOT NULL,
		run_id character varying(250) NOT NULL, map_index integer NOT NULL DEFAULT -1, start_date timestamptz, end_date timestamptz,
		state character varying(20), try_number integer, pool character varying(256) NOT NULL, queue character varying(256),
		priority_weight integer, queued_dttm timestamptz`
	columns2   = commonColumns + `, job_id integer, PRIMARY KEY (dag_id, task_id, run_id, map_index)`
	columns210 = `executor character varying(1000), ` + columns2
	columns3   = commonColumns + `, id uuid PRIMARY KEY DEFAULT gen_random_uuid(), executor character varying(1000),
		last_heartbeat_at timestamptz, UNIQUE (dag_id, task_id, run_id, map_index)`
)

func newFixture(db *sqltest.DB) *fixture { return newFixtureOf(db, columns3) }

func newFixtureOf(db *sqltest.DB, columns string) *fixture {
	db.Exec("CREATE TABLE task_instance (" + columns + ")")
	db.Exec(`CREATE INDEX ti_state ON task_instance (state);
		CREATE INDEX ti_dag_state ON task_instance (dag_id, state);
		CREATE INDEX ti_pool ON task_instance (pool, state, priority_weight)`)
	return &fixture{db: db}
}

// add adds n tasks of a new run in a state, with other columns as given.
func (f *fixture) add(queue any, n int, state string, other map[string]any) {
	f.db.TB().Helper()
	row := map[string]any{
		"dag_id": "etl", "task_id": sqltest.Expr("'task-' || i"), "run_id": fmt.Sprint("manual__", f.runs.Add(1)),
		"state": state, "queue": queue, "pool": "default_pool", "priority_weight": 1, "try_number": 1,
	}
	maps.Copy(row, other)
	f.db.Insert("task_instance", n, row)
}

func ago(d time.Duration) time.Time { return time.Now().Add(-d) }

func (f *fixture) queued(queue any, n int, since time.Duration) {
	f.db.TB().Helper()
	f.add(queue, n, "queued", map[string]any{"queued_dttm": ago(since)})
}

func (f *fixture) Insert(queue string, n int) { f.queued(queue, n, 0) }

// Schedule adds sensors that look again later; those that were due are queued by Airflow's scheduler, which runs
// whether workers do or not.
func (f *fixture) Schedule(queue string, n int, in time.Duration) {
	if in > 0 {
		f.add(queue, n, "up_for_reschedule", nil)
		return
	}
	f.queued(queue, n, -in)
}

func (f *fixture) Pause(string) { f.db.TB().Fatal("Airflow pauses DAGs, not queues") }

func (f *fixture) Run(queue string, n int) { f.Orphan(queue, n, 0) }

func (f *fixture) Orphan(queue string, n int, age time.Duration) {
	f.add(queue, n, "running", map[string]any{"start_date": ago(age), "queued_dttm": ago(age), "last_heartbeat_at": ago(age)})
}

func (f *fixture) Fail(queue string, n int, in time.Duration) {
	if in > 0 {
		f.add(queue, n, "up_for_retry", map[string]any{"start_date": ago(time.Minute), "end_date": ago(0)})
		return
	}
	f.queued(queue, n, -in)
}

func (f *fixture) Snooze(queue string, n int, in time.Duration) { f.Schedule(queue, n, in) }

func (f *fixture) Cancel(queue string, n int) { f.add(queue, n, "skipped", nil) }

func (f *fixture) Finish(queue string, n int) { f.add(queue, n, "success", nil) }
