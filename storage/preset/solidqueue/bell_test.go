package solidqueue_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

func TestTheBellRingsForWhatBecomesRunnable(t *testing.T) {
	sqltest.Bell(t, preset, install, func(f fixture, db *sqltest.DB) []sqltest.Ring {
		return []sqltest.Ring{
			{Name: "a job for later", Do: func() { f.Schedule("mail", 1, time.Hour) }, Queue: "mail"},
			{Name: "a job put off", Do: func() {
				db.Exec("UPDATE solid_queue_scheduled_executions SET scheduled_at = scheduled_at + interval '1 day'")
			}},
			{Name: "a job brought forward", Do: func() {
				db.Exec("UPDATE solid_queue_scheduled_executions SET scheduled_at = scheduled_at - interval '2 days'")
			}, Queue: "mail"},
			{Name: "a claim", Do: func() { f.Run("print", 0); db.Exec("DELETE FROM solid_queue_ready_executions") }},
			{Name: "what the dispatcher makes ready", Do: func() {
				db.Exec(`WITH due AS (DELETE FROM solid_queue_scheduled_executions RETURNING job_id, queue_name, priority, created_at)
					INSERT INTO solid_queue_ready_executions (job_id, queue_name, priority, created_at) SELECT * FROM due`)
			}, Queue: "mail"},
		}
	})
}
