package oban_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

func TestTheBellRingsForWhatBecomesRunnable(t *testing.T) {
	sqltest.Bell(t, preset, install, func(f fixture, db *sqltest.DB) []sqltest.Ring {
		update := func(sql string) func() { return func() { db.Exec("UPDATE oban_jobs SET " + sql) } }
		return []sqltest.Ring{
			{Name: "a job for later", Do: func() { f.Schedule("mail", 1, time.Hour) }, Queue: "mail"},
			{Name: "a promotion, which makes ready what is due anyway", Do: update("state = 'available'")},
			{Name: "a start", Do: update("state = 'executing', attempt = 1")},
			{Name: "a retry", Do: update("state = 'retryable', scheduled_at = scheduled_at + interval '5 s'"), Queue: "mail"},
			{Name: "a job brought forward", Do: update("state = 'available', scheduled_at = scheduled_at - interval '1 day'"), Queue: "mail"},
			{Name: "a suspension", Do: update("state = 'suspended'")},
			{Name: "its end", Do: update("state = 'available'"), Queue: "mail"},
			{Name: "an end", Do: update("state = 'completed'")},
		}
	})
}
