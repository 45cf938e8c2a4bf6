package postgres_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// The first try of a lock is in the trigger's condition, and what costs most, the call of its function, is for when
// somebody waits.
func TestBellCallsItsFunctionOnlyWhileSomebodyWaits(t *testing.T) {
	dsn, conn := newBelled(t)
	run(t, conn, `CREATE OR REPLACE FUNCTION leadsman_bell_test() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'called'; END $$`)
	inserts := func(when string, called map[string]bool) {
		t.Helper()
		for name, insert := range map[string]func() error{
			"one job": execute(t, conn, insertMail),
			"many":    execute(t, conn, "INSERT INTO jobs (queue) SELECT 'mail' FROM generate_series(1, 100)"),
			"a copy": func() error {
				_, err := conn.CopyFrom(t.Context(), pgx.Identifier{"jobs"}, []string{"queue"}, pgx.CopyFromRows([][]any{{"mail"}, {"mail"}}))
				return err
			},
			"another queue's": execute(t, conn, "INSERT INTO jobs (queue) VALUES ('print')"),
			"no job":          execute(t, conn, "INSERT INTO jobs (queue, held) VALUES ('mail', true)"),
		} {
			if err := insert(); err != nil != called[name] || err != nil && !strings.Contains(err.Error(), "called") {
				t.Errorf("%s, %s: %v; want a call: %t", when, name, err, called[name])
			}
		}
		if n := number(t, conn, bellLocks+" AND mode = 'ExclusiveLock'"); n != 0 {
			t.Errorf("%s: %d locks are left", when, n)
		}
	}
	inserts("nobody waits", nil)
	reader := connect(t, dsn)
	run(t, reader, `SELECT pg_advisory_lock_shared(substring(obj_description('leadsman_bell_test'::regproc, 'pg_proc') FROM 'class (\d+)')::int,
		(hashtext('mail') & 63) + 64 * stripe) FROM generate_series(0, 7) AS stripe`)
	inserts("somebody waits", map[string]bool{"one job": true, "many": true, "a copy": true})
	run(t, reader, "SELECT pg_advisory_unlock_all()")
	inserts("nobody waits any more", nil)
}

func execute(t *testing.T, conn *pgx.Conn, sql string) func() error {
	return func() error {
		_, err := conn.Exec(t.Context(), sql)
		return err
	}
}

// awaitRing arms the bell of a database, and inserts jobs on a connection until one rings.
func awaitRing(t *testing.T, dsn string, conn *pgx.Conn) {
	t.Helper()
	watch(t, open(t, postgres.Config{URL: always(dsn), SQL: belled()})).armed(t)
	ear := eavesdrop(t, dsn)
	eventually(t, "an insert that rings", func() bool {
		run(t, conn, insertMail)
		return ear.rings() > 0
	})
}

// Until the condition had it, the function had the first try too. Who has installed that needs nothing else.
func TestBellWhoseConditionTriesNothingRingsStill(t *testing.T) {
	dsn, conn := newBelled(t)
	run(t, conn, `CREATE OR REPLACE TRIGGER leadsman_bell_insert AFTER INSERT ON jobs FOR EACH ROW
		WHEN (NOT NEW.held) EXECUTE FUNCTION leadsman_bell_test()`)
	awaitRing(t, dsn, conn)
	const tries = `SELECT count(*) FROM pg_trigger WHERE tgname = 'leadsman_bell_insert' AND pg_get_triggerdef(oid) LIKE '%pg_try_advisory_lock%'`
	if n := number(t, conn, tries); n != 0 {
		t.Fatal("the condition tries the lock before it is installed anew")
	}
	run(t, conn, bellSQL(t, belled()))
	if n := number(t, conn, tries); n != 1 {
		t.Error("installing the bell anew did not change the condition")
	}
}

// Jobs that come by logical replication ring where the trigger is for those too, as the bell's comments say.
func TestBellRingsForWhatIsReplicated(t *testing.T) {
	cluster := storagetest.StartCluster(t, storagetest.Setting("wal_level", "logical"))
	from, dsn := cluster.Database(t), cluster.Database(t)
	source, target := connect(t, from), connect(t, dsn)
	run(t, source, jobsTable, "CREATE PUBLICATION bell FOR TABLE jobs", "SELECT pg_create_logical_replication_slot('bell', 'pgoutput')")
	run(t, target, jobsTable, bellSQL(t, belled()), "ALTER TABLE jobs ENABLE ALWAYS TRIGGER leadsman_bell_insert",
		fmt.Sprintf("CREATE SUBSCRIPTION bell CONNECTION '%s' PUBLICATION bell WITH (create_slot = false, copy_data = false)", keywords(t, from)))
	awaitRing(t, dsn, source)
	run(t, target, "DROP SUBSCRIPTION bell") // it holds the database
}

// keywords are a URL's host, port, user and database in the form that the server's own client takes anywhere.
func keywords(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("host=%s port=%s user=%s dbname=%s", u.Hostname(), u.Port(), u.User.Username(), strings.TrimPrefix(u.Path, "/"))
}
