package airflow_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/preset/airflow"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

func TestTheBellRingsForWhatBecomesRunnable(t *testing.T) {
	sqltest.Bell(t, *airflow.Preset.Postgres, newFixture, func(f *fixture, db *sqltest.DB) []sqltest.Ring {
		update := func(sql string) func() { return func() { db.Exec("UPDATE task_instance SET " + sql) } }
		return []sqltest.Ring{
			{Name: "a task that is not queued yet", Do: func() { f.Schedule("mail", 1, time.Hour) }},
			{Name: "a run", Do: update("state = 'running', start_date = now()")},
			{Name: "a task that the scheduler queues", Do: update("state = 'queued', queued_dttm = now()"), Queue: "mail"},
			{Name: "a queued task that is touched", Do: update("try_number = 2")},
			{Name: "no state", Do: update("state = NULL, queue = NULL")},
			{Name: "a task of no queue, which is the default one's", Do: update("state = 'queued'"), Queue: "default"},
		}
	})
}
