package que_test

import (
	_ "embed"
	"fmt"
	"maps"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/sqltest"
)

//go:embed testdata/schema.sql
var schemaSQL string

// later are the migrations after 4.
var later = map[int]string{
	5: `ALTER TABLE que_jobs ADD job_schema_version integer DEFAULT 1;
	    ALTER TABLE que_lockers ADD job_schema_version integer DEFAULT 1;
	    CREATE INDEX que_poll_idx_with_job_schema_version ON que_jobs (job_schema_version, queue, priority, run_at, id)
	      WHERE finished_at IS NULL AND expired_at IS NULL`,
	6: `ALTER TABLE que_jobs ADD kwargs jsonb NOT NULL DEFAULT '{}';
	    CREATE INDEX que_jobs_kwargs_gin_idx ON que_jobs USING gin (kwargs jsonb_path_ops);
	    DROP INDEX que_poll_idx;
	    ALTER INDEX que_poll_idx_with_job_schema_version RENAME TO que_poll_idx;
	    ALTER TABLE que_jobs ALTER job_schema_version DROP DEFAULT, ALTER job_schema_version SET NOT NULL`,
	7: `DROP TRIGGER que_state_notify ON que_jobs;
	    CREATE TRIGGER que_state_notify AFTER INSERT OR UPDATE OR DELETE ON que_jobs FOR EACH ROW
	      WHEN (NOT coalesce(current_setting('que.skip_notify', true), '') = 'true') EXECUTE FUNCTION que_state_notify()`,
}

const newest = 7

// A fixture writes jobs as Que does. Its connection is a locker's as well, for the locks that are held by it.
type fixture struct {
	*sqltest.DB

	version int
}

var _ storagetest.Fixture = fixture{}

func install(db *sqltest.DB) fixture { return installVersion(db, newest) }

func installVersion(db *sqltest.DB, version int) fixture {
	db.Exec(schemaSQL)
	for v := 5; v <= version; v++ {
		db.Exec(later[v])
		db.Exec(fmt.Sprintf("COMMENT ON TABLE que_jobs IS '%d'", v))
	}
	return fixture{db, version}
}

// from is a time some time from now.
func from(d time.Duration) sqltest.Expr {
	return sqltest.Expr(fmt.Sprintf("now() + interval '%f seconds'", d.Seconds()))
}

// add inserts n jobs, spread over some priorities; from migration 6 on, of workers of Que 2 and, while they are being
// replaced, of Que 1.
func (f fixture) add(queue string, n int, columns map[string]any) {
	f.TB().Helper()
	row := map[string]any{"queue": queue, "job_class": "Job", "priority": sqltest.Expr("i % 4 * 100 - 100")}
	if f.version >= 6 {
		row["job_schema_version"] = sqltest.Expr("1 + i % 2")
	}
	maps.Copy(row, columns)
	f.DB.Insert("que_jobs", n, row)
}

// Insert implements storagetest.Fixture.
func (f fixture) Insert(queue string, n int) {
	f.TB().Helper()
	f.add(queue, n, nil)
}

// Schedule implements storagetest.Fixture.
func (f fixture) Schedule(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.add(queue, n, map[string]any{"run_at": from(in)})
}

// Pause implements storagetest.Fixture.
func (f fixture) Pause(string) { f.TB().Fatal("Que has no pauses") }

// locker registers the connection as a locker of a queue, instead of what it was before.
func (f fixture) locker(queues ...string) {
	f.TB().Helper()
	f.Exec("DELETE FROM que_lockers WHERE pid = pg_backend_pid()")
	f.Exec(`INSERT INTO que_lockers (pid, worker_count, worker_priorities, ruby_pid, ruby_hostname, queues, listening)
		VALUES (pg_backend_pid(), 6, '{10,30,50,NULL,NULL,NULL}', 1, 'host', $1, true)`, queues)
}

// Run implements storagetest.Fixture.
func (f fixture) Run(queue string, n int) {
	f.TB().Helper()
	f.locker(queue)
	f.add(queue, n, map[string]any{"job_class": "Running"})
	f.lock(queue, "Running")
}

// lock locks the jobs of a class.
func (f fixture) lock(queue, class string) {
	f.TB().Helper()
	f.Exec("SELECT pg_advisory_lock(id) FROM que_jobs WHERE queue = $1 AND job_class = $2", queue, class)
}

// Orphan implements storagetest.Fixture. A job that nobody has locked is no orphan.
func (f fixture) Orphan(string, int, time.Duration) { f.TB().Fatal("Que has no orphans") }

// Fail implements storagetest.Fixture.
func (f fixture) Fail(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.add(queue, n, map[string]any{"run_at": from(in), "error_count": 1, "last_error_message": "failed"})
}

// Snooze implements storagetest.Fixture.
func (f fixture) Snooze(queue string, n int, in time.Duration) {
	f.TB().Helper()
	f.Schedule(queue, n, in)
}

// Cancel implements storagetest.Fixture. Que has nothing but expiring, which it does after the last try.
func (f fixture) Cancel(queue string, n int) {
	f.TB().Helper()
	f.add(queue, n, map[string]any{"expired_at": from(0), "error_count": 15})
}

// Finish implements storagetest.Fixture.
func (f fixture) Finish(queue string, n int) {
	f.TB().Helper()
	f.add(queue, n, map[string]any{"finished_at": from(0)})
}
