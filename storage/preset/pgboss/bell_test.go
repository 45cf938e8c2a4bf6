//go:build libraries

package pgboss_test

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/preset/pgboss"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

// One text for the single table of version 9, and for the partitions of later ones.
func TestTheBellRingsForWhatEachReleaseMakesRunnable(t *testing.T) {
	for _, release := range releases {
		t.Run(release, func(t *testing.T) {
			sqltest.Bell(t, *pgboss.Preset.Postgres, func(db *sqltest.DB) *fixture { return newFixture(db, release) }, pgBossRings)
		})
	}
}

func pgBossRings(f *fixture, db *sqltest.DB) []sqltest.Ring {
	return []sqltest.Ring{
		{Name: "a job for later", Do: func() { f.Schedule("mail", 1, time.Hour) }, Queue: "mail"},
		{Name: "a queue that is made later", Do: func() { f.Insert("print", 1) }, Queue: "print"},
		{Name: "a fetch and a completion", Do: func() { f.take("print", 1, "complete") }},
		{Name: "jobs that are to be tried again", Do: func() { f.Fail("mail", 1, time.Hour) }, Queue: "mail"},
		{Name: "a fetch", Do: func() { f.take("mail", 1, "hold") }},
		{Name: "a job given back", Do: func() {
			db.Exec("UPDATE job SET state = 'retry' WHERE state = 'active' AND name = 'mail'")
		}, Queue: "mail"},
	}
}
