package laravel_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/preset/laravel"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

func TestTheBellRingsForWhatBecomesRunnable(t *testing.T) {
	sqltest.Bell(t, *laravel.Preset.Postgres, newFixture, func(f fixture, db *sqltest.DB) []sqltest.Ring {
		update := func(sql string) func() { return func() { db.Exec("UPDATE jobs SET " + sql) } }
		return []sqltest.Ring{
			{Name: "a job for later", Do: func() { f.Schedule("mail", 1, time.Hour) }, Queue: "mail"},
			{Name: "a reservation", Do: update("reserved_at = available_at, attempts = attempts + 1")},
			{Name: "a release, which Laravel does by a new row", Do: func() { f.Insert("mail", 1) }, Queue: "mail"},
			{Name: "the end of a reservation", Do: update("reserved_at = NULL"), Queue: "mail"},
			{Name: "a job put off", Do: update("available_at = available_at + 60")},
			{Name: "a job brought forward", Do: update("available_at = available_at - 60"), Queue: "mail"},
			{Name: "another queue", Do: update("queue = 'print'"), Queue: "print"},
			{Name: "a delete", Do: func() { db.Exec("DELETE FROM jobs") }},
		}
	})
}
