package postgres_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// Case 50.
func TestReadsThroughATransactionPoolerNoticeItOnce(t *testing.T) {
	dsn := storagetest.Postgres(t)
	through := pgbouncer(t, dsn)
	// Several engines with queries of their own meet on the one server connection behind the pooler. None may
	// run another's statement, nor leave its settings behind.
	var group sync.WaitGroup
	for i, queue := range []string{"a", "b", "c"} {
		var log logbook
		engine := open(t, postgres.Config{
			URL: always(through), SQL: static("SELECT '" + queue + "' AS queue, " + string(rune('1'+i)) + " AS ready"), Logger: log.logger(),
		})
		group.Go(func() {
			for range 100 {
				reading, err := engine.Read(t.Context(), every)
				if err != nil {
					t.Error(err)
					return
				}
				if q := reading.Queues[0]; q.Name != queue || q.Ready != int64(i+1) {
					t.Errorf("engine %s read %+v", queue, q)
				}
			}
			if n := strings.Count(log.String(), "pooler"); n > 1 {
				t.Errorf("%d warnings, want one at most: %s", n, log.String())
			}
		})
	}
	group.Wait()
	conn := connect(t, dsn)
	left := number(t, conn, "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND datname = current_database()")
	if left != 0 {
		t.Errorf("%d transactions are left open", left)
	}
	plain, err := connectPlain(t, through)
	if err != nil {
		t.Fatal(err)
	}
	var timeout, readOnly string
	if err := plain.QueryRow(t.Context(), "SELECT current_setting('statement_timeout'), current_setting('transaction_read_only')").
		Scan(&timeout, &readOnly); err != nil {
		t.Fatal(err)
	}
	if timeout != "0" || readOnly != "off" {
		t.Errorf("settings leaked to the pooler's next client: statement_timeout=%s transaction_read_only=%s", timeout, readOnly)
	}
}

func TestReadsWithPoolerSetPrepareNothing(t *testing.T) {
	dsn := storagetest.Postgres(t)
	through := pgbouncer(t, dsn)
	for name, cfg := range map[string]postgres.Config{
		"Pooler":     {URL: always(through), Pooler: true},
		"in the URL": {URL: always(through + "&default_query_exec_mode=exec")},
	} {
		var log logbook
		cfg.SQL, cfg.Logger = static("SELECT name AS queue, 1 AS ready FROM pg_prepared_statements"), log.logger()
		engine := open(t, cfg)
		for range 3 {
			reading, err := engine.Read(t.Context(), every)
			if err != nil {
				t.Fatal(err)
			}
			if len(reading.Queues) != 0 || log.String() != "" {
				t.Errorf("%s: prepared %+v, logged %q; want neither", name, reading.Queues, log.String())
			}
		}
	}
}

// Case 51.
func TestWatchThroughATransactionPoolerHearsNoCanaryAndSaysSo(t *testing.T) {
	dsn := storagetest.Postgres(t)
	through := pgbouncer(t, dsn)
	s := watch(t, open(t, postgres.Config{URL: always(through), SQL: listening(static(oneJob))}))
	s.wait(t, "edge polling because of the pooler", func(s seen) bool {
		return s.mode == driver.ModeEdgePoll && strings.Contains(s.why, "listenURL")
	})
	for _, mode := range s.now().modes {
		if mode != driver.ModeEdgePoll {
			t.Errorf("the engine believed in %q", mode)
		}
	}
}

func TestWatchWithAListenURLPassesThePoolerBy(t *testing.T) {
	dsn := storagetest.Postgres(t)
	through := pgbouncer(t, dsn)
	s := watch(t, open(t, postgres.Config{URL: always(through), ListenURL: always(dsn), SQL: listening(static(oneJob))}))
	s.listens(t)
	notify(t, connect(t, dsn), "mail")
	s.wait(t, "a signal", func(s seen) bool { return s.signals["mail"] > 0 })
}

func TestWatchThroughASessionPoolerListens(t *testing.T) {
	dsn := storagetest.Postgres(t)
	through := pgbouncer(t, dsn, "pool_mode = session", "default_pool_size = 5")
	s := watch(t, open(t, postgres.Config{URL: always(through), SQL: listening(static(oneJob))}))
	s.listens(t)
	notify(t, connect(t, dsn), "mail")
	s.wait(t, "a signal", func(s seen) bool { return s.signals["mail"] > 0 })
}

func TestWatchHearsThatListenURLLeadsToAnotherDatabase(t *testing.T) {
	s := watch(t, open(t, postgres.Config{
		URL: always(storagetest.Postgres(t)), ListenURL: always(storagetest.Postgres(t)), SQL: listening(static(oneJob)),
	}))
	s.wait(t, "edge polling", func(s seen) bool { return s.mode == driver.ModeEdgePoll && strings.Contains(s.why, "canary") })
}
