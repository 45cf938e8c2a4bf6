package river_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/preset/river"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// With plain SQL, which River announces nowhere.
func TestTheBellRingsForWhatBecomesRunnable(t *testing.T) {
	newFixture := func(db *sqltest.DB) storagetest.Fixture { return storagetest.RiverPostgres(db.TB(), db.URL()) }
	sqltest.Bell(t, *river.Preset.Postgres, newFixture, func(f storagetest.Fixture, db *sqltest.DB) []sqltest.Ring {
		update := func(sql string) func() { return func() { db.Exec("UPDATE river_job SET " + sql) } }
		return []sqltest.Ring{
			{Name: "a job for later", Do: func() { f.Schedule("mail", 1, time.Hour) }, Queue: "mail"},
			{Name: "plain SQL", Do: func() {
				db.Exec("INSERT INTO river_job (kind, args, max_attempts, queue) VALUES ('send', '{}', 25, 'print')")
				db.Exec("DELETE FROM river_job WHERE queue = 'print'")
			}, Queue: "print"},
			{Name: "a promotion, which makes ready what is due anyway", Do: update("state = 'available'")},
			{Name: "a start", Do: update("state = 'running', attempt = 1, attempted_at = now()")},
			{Name: "a retry", Do: update("state = 'retryable', scheduled_at = scheduled_at + interval '5 s'"), Queue: "mail"},
			{Name: "a job brought forward", Do: update("state = 'available', scheduled_at = scheduled_at - interval '1 day'"), Queue: "mail"},
			{Name: "an end", Do: update("state = 'completed', finalized_at = now()")},
		}
	})
}
