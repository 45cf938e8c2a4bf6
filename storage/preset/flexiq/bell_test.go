package flexiq_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/preset/flexiq"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

func TestTheBellRingsForWhatBecomesRunnable(t *testing.T) {
	sqltest.Bell(t, *flexiq.Preset.Postgres, newFixture, func(f *fixture, db *sqltest.DB) []sqltest.Ring {
		update := func(sql string) func() { return func() { db.Exec("UPDATE jobs SET " + sql) } }
		return []sqltest.Ring{
			{Name: "a job for later", Do: func() { f.Schedule("mail", 1, time.Hour) }, Queue: "mail"},
			{Name: "a claim", Do: update("status = 1, started_at = created_at")},
			{Name: "a retry", Do: update("status = 0, retry_count = 1, scheduled_at = scheduled_at + 5000"), Queue: "mail"},
			{Name: "a job put off", Do: update("scheduled_at = scheduled_at + 60000")},
			{Name: "a job brought forward", Do: update("scheduled_at = scheduled_at - 60000"), Queue: "mail"},
			{Name: "an end", Do: update("status = 2, completed_at = scheduled_at")},
			{Name: "a queue of a namespace", Do: func() {
				f.add("jobs", "mail", 1, 0, map[string]any{"namespace": "team"})
			}, Queue: "team/mail"},
		}
	})
}
