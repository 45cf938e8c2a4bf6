package faults

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// connect opens a connection for the test, which its counts leave out. It is closed when the test ends.
func connect(t *testing.T, databaseURL string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), databaseURL+"&application_name="+ours)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) }) // the server may be gone
	return conn
}

func execute(t *testing.T, conn *pgx.Conn, statement string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// terminate ends leadsman's connections to the test's database whose last statement matches.
const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE datname = current_database() AND application_name <> 'app' AND query ~ $1`

func TestConnectionFaultsOfPostgreSQL(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{
		{
			name: "the listening connection is terminated", pushed: "listen",
			begin: func(t *testing.T, v *victim) { execute(t, connect(t, v.databaseURL()), terminate, "LISTEN|NOTIFY") },
			end:   func(*testing.T, *victim) {},
		}, {
			name: "all connections are terminated", pushed: "listen",
			begin: func(t *testing.T, v *victim) { execute(t, connect(t, v.databaseURL()), terminate, "") },
			end:   func(*testing.T, *victim) {},
		},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := newRiverStore(t, storagetest.Postgres(t))
			endures(t, befalls(t, riverKind, s, newNetwork(t, sharedCluster(t))), f)
		})
	}
}

func (v *victim) databaseURL() string { return v.store.(*riverStore).database }

// LISTEN is lost and nobody tells: the connection stays open and hears nothing more. Reads go another way.
func TestListenIsLostSilently(t *testing.T) {
	t.Parallel()
	s := newRiverStore(t, storagetest.Postgres(t))
	ears := newNetwork(t, sharedCluster(t))
	s.more = fmt.Sprintf(", listenURL: %q", at(s.database, ears.address()))
	v := befalls(t, riverKind, s, newNetwork(t, sharedCluster(t)))
	endures(t, v, fault{
		name: "LISTEN is lost silently (notifications are swallowed)", pushed: "listen",
		begin: func(t *testing.T, _ *victim) {
			ears.suffersOneWay(t, "downstream", "timeout", attributes{"timeout": 0})
		},
		end: func(*testing.T, *victim) { ears.heals() },
	})
}

// The server has no connection left, and leadsman has just lost those that it had.
func TestConnectionsOfPostgreSQLAreExhausted(t *testing.T) {
	t.Parallel()
	const most = 20
	cluster := storagetest.StartCluster(t, storagetest.Setting("max_connections", fmt.Sprint(most)),
		storagetest.Setting("superuser_reserved_connections", "0"))
	s := newRiverStore(t, cluster.Database(t))
	var crowd []*pgx.Conn
	endures(t, befalls(t, riverKind, s, newNetwork(t, cluster.Address())), fault{
		name: "max_connections is exhausted", pushed: "listen", outage: true,
		begin: func(t *testing.T, _ *victim) {
			killer := connect(t, s.database)
			for {
				execute(t, killer, terminate, "")
				for { // until there is no room, for leadsman either
					conn, err := pgx.Connect(t.Context(), s.database+"&application_name="+ours)
					if err != nil {
						break
					}
					crowd = append(crowd, conn)
				}
				if s.connections(t) == 0 {
					return
				}
			}
		},
		end: func(t *testing.T, _ *victim) {
			for _, conn := range crowd {
				if err := conn.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		},
	})
}

// Case 54: the table is locked by a migration, for the producer too.
func TestTableIsLocked(t *testing.T) {
	t.Parallel()
	s := newRiverStore(t, storagetest.Postgres(t))
	var migration pgx.Tx
	endures(t, befalls(t, riverKind, s, newNetwork(t, sharedCluster(t))), fault{
		name: "the table is locked (ACCESS EXCLUSIVE)", pushed: "listen", outage: true,
		begin: func(t *testing.T, _ *victim) {
			var err error
			if migration, err = connect(t, s.database).Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := migration.Exec(t.Context(), "LOCK TABLE river_job IN ACCESS EXCLUSIVE MODE"); err != nil {
				t.Fatal(err)
			}
		},
		end: func(t *testing.T, _ *victim) {
			if err := migration.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// Case 53: a consumer sits in a transaction, so that the server has to keep all that comes, which is a million
// notifications. leadsman takes them as they come.
func TestNotificationQueueIsUnderPressure(t *testing.T) {
	t.Parallel()
	s := newRiverStore(t, storagetest.Postgres(t))
	endures(t, befalls(t, riverKind, s, newNetwork(t, sharedCluster(t))), fault{
		name: "a million notifications, kept by a consumer in a transaction", pushed: "listen",
		begin: func(t *testing.T, _ *victim) {
			consumer := connect(t, s.database)
			execute(t, consumer, "LISTEN river_insert")
			execute(t, consumer, "BEGIN")
			execute(t, consumer, "SELECT 1")
			const flood = `SELECT pg_notify('public.river_insert', '{"queue": "other-' || g || '"}') FROM generate_series(1, 50000) g`
			producer := connect(t, s.database)
			for range 20 {
				execute(t, producer, flood)
			}
			t.Cleanup(func() { _ = consumer.Close(t.Context()) })
		},
		end: func(*testing.T, *victim) {},
	})
}

// Case 52: the primary dies, its standby is promoted, and the old one comes back as a standby, with data that stand still.
func TestFailOverOfPostgreSQL(t *testing.T) {
	t.Parallel()
	old := storagetest.StartCluster(t, durable)
	next := standbyOf(t, old)
	both := at(old.SuperuserURL(), old.Address()+","+next.Address())
	s := newRiverStore(t, both, "&target_session_attrs=read-write")
	demoted := dataDirectory(t, old)
	endures(t, befalls(t, "PostgreSQL with a standby, River", s, nil), fault{
		name: "fail-over: kill -9, a standby is promoted, the old primary is back, demoted", pushed: "listen",
		begin: func(t *testing.T, _ *victim) {
			awaitReplay(t, old, next)
			old.Kill(t)
		},
		end: func(t *testing.T, _ *victim) {
			execute(t, connect(t, next.SuperuserURL()), "SELECT pg_promote()")
			if err := os.WriteFile(filepath.Join(demoted, "standby.signal"), nil, 0o644); err != nil { // the server is another user
				t.Fatal(err)
			}
			old.Start(t)
		},
		outage: true,
	})
}

// at is a URL with other hosts.
func at(databaseURL, hosts string) string {
	u, err := url.Parse(databaseURL)
	if err != nil {
		panic(err) // it is one of storagetest's
	}
	u.Host = hosts
	return u.String()
}

func dataDirectory(t *testing.T, c *storagetest.Cluster) string {
	t.Helper()
	var dir string
	if err := connect(t, c.SuperuserURL()).QueryRow(t.Context(), "SHOW data_directory").Scan(&dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// awaitReplay waits until the standby has all that the primary has.
func awaitReplay(t *testing.T, primary, standby *storagetest.Cluster) {
	t.Helper()
	var written string
	if err := connect(t, primary.SuperuserURL()).QueryRow(t.Context(), "SELECT pg_current_wal_flush_lsn()::text").Scan(&written); err != nil {
		t.Fatal(err)
	}
	conn := connect(t, standby.SuperuserURL())
	rig.Eventually(t, grace, "the standby has all", func() bool {
		var has bool
		err := conn.QueryRow(t.Context(), "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn", written).Scan(&has)
		return err == nil && has
	})
}
