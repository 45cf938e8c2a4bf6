package goodjob_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

func TestTheBellRingsForWhatBecomesRunnable(t *testing.T) {
	sqltest.Bell(t, preset, install, func(f fixture, db *sqltest.DB) []sqltest.Ring {
		update := func(sql string) func() { return func() { db.Exec("UPDATE good_jobs SET " + sql) } }
		return []sqltest.Ring{
			{Name: "a job for later", Do: func() { f.Schedule("mail", 1, time.Hour) }, Queue: "mail"},
			{Name: "a start", Do: update("performed_at = scheduled_at, locked_by_id = gen_random_uuid()")},
			{Name: "a retry", Do: update("performed_at = NULL, locked_by_id = NULL, scheduled_at = scheduled_at + interval '5 s'"), Queue: "mail"},
			{Name: "a job put off", Do: update("scheduled_at = scheduled_at + interval '1 day'")},
			{Name: "a job brought forward", Do: update("scheduled_at = scheduled_at - interval '1 day'"), Queue: "mail"},
			{Name: "an end", Do: update("finished_at = scheduled_at")},
			{Name: "an ended job that is to be run again", Do: update("finished_at = NULL"), Queue: "mail"},
		}
	})
}
