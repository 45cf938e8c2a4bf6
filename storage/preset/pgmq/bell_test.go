package pgmq_test

import (
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

func TestTheBellRingsForWhatBecomesRunnable(t *testing.T) {
	sqltest.Bell(t, preset, install, func(f fixture, db *sqltest.DB) []sqltest.Ring {
		f.Insert("Odd %s 'Name'", 1)
		sqltest.InstallBell(t, preset, db)
		return []sqltest.Ring{
			{Name: "a delayed message", Do: func() { f.Schedule("mail", 1, time.Hour) }, Queue: "mail"},
			{Name: "a queue of another name", Do: func() { f.Insert("Odd %s 'Name'", 1) }, Queue: "Odd %s 'Name'"},
			{Name: "a read", Do: func() { db.Exec("UPDATE q_mail SET read_ct = 1, vt = vt + interval '30 s'") }},
			{Name: "a message given back", Do: func() { db.Exec("UPDATE q_mail SET vt = vt - interval '30 s'") }, Queue: "mail"},
			{Name: "a delete", Do: func() { db.Exec("DELETE FROM q_mail") }},
		}
	})
}

// modes is a driver.Sink.
type modes chan string

func (m modes) Signal(string)                        {}
func (m modes) Push(mode driver.Mode, reason string) { m <- string(mode) + ": " + reason }

func TestAQueueWithoutABellIsPolled(t *testing.T) {
	db := sqltest.Postgres(t, storagetest.Postgres(t))
	f := install(db)
	f.Insert("mail", 1)
	sqltest.InstallBell(t, preset, db)
	f.Insert("print", 1)
	told := make(modes, 100)
	ended := make(chan error, 1)
	engine := sqltest.OpenPostgres(t, preset, db.URL(), "")
	go func() { ended <- engine.Watch(t.Context(), told) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil { // the test's context is done by now
			t.Error(err)
		}
	})
	if got := <-told; !strings.HasPrefix(got, string(driver.ModeEdgePoll)) || !strings.Contains(got, `missing on table "pgmq".q_print`) {
		t.Errorf("got %q", got)
	}
}
