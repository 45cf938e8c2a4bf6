package delayedjob_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/preset/delayedjob"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

func TestTheBellRingsForWhatBecomesRunnable(t *testing.T) {
	sqltest.Bell(t, *delayedjob.Preset.Postgres, newFixture, func(f fixture, db *sqltest.DB) []sqltest.Ring {
		update := func(sql string) func() { return func() { db.Exec("UPDATE delayed_jobs SET " + sql) } }
		return []sqltest.Ring{
			{Name: "a job for later", Do: func() { f.Schedule("mail", 1, time.Hour) }, Queue: "mail"},
			{Name: "a job of no queue", Do: func() { f.add(nil, 1, 0, nil); db.Exec("DELETE FROM delayed_jobs WHERE queue IS NULL") }, Queue: delayedjob.NoQueue},
			{Name: "a lock", Do: update("locked_at = run_at, locked_by = 'worker'")},
			{Name: "a job to be tried again", Do: update("locked_at = NULL, locked_by = NULL, attempts = 1, run_at = run_at + interval '5 s'"), Queue: "mail"},
			{Name: "a job put off", Do: update("run_at = run_at + interval '1 day'")},
			{Name: "a job brought forward", Do: update("run_at = run_at - interval '1 day'"), Queue: "mail"},
			{Name: "a failure", Do: update("failed_at = run_at")},
			{Name: "a failed job that is to be tried after all", Do: update("failed_at = NULL"), Queue: "mail"},
			{Name: "another queue", Do: update("queue = 'print'"), Queue: "print"},
			{Name: "a delete", Do: func() { db.Exec("DELETE FROM delayed_jobs") }},
		}
	})
}
