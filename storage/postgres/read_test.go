package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

func TestReadSetsItsBoundsForTheStatementOnly(t *testing.T) {
	dsn := storagetest.Postgres(t)
	names := []string{"statement_timeout", "lock_timeout", "row_security", "transaction_read_only", "jit", "plan_cache_mode"}
	query := "SELECT name || '=' || current_setting(name) AS queue, 0 AS ready, 0 AS lookahead FROM unnest(ARRAY["
	var querySb21 strings.Builder
	for i, name := range names {
		if i > 0 {
			querySb21.WriteString(",")
		}
		querySb21.WriteString("'" + name + "'")
	}
	query += querySb21.String()
	query += "]) AS name"
	engine := open(t, postgres.Config{URL: always(dsn), SQL: driver.SQL{Query: query}, Timeout: 3 * time.Second, MaxConns: 1})
	for range 2 { // the first prepares, the second has prepared
		reading, err := engine.Read(t.Context(), every)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, q := range reading.Queues {
			got = append(got, q.Name)
		}
		want := []string{
			"statement_timeout=3s", "lock_timeout=1500ms", "row_security=off", "transaction_read_only=on", "jit=off",
			"plan_cache_mode=force_generic_plan",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	conn := connect(t, dsn)
	left := number(t, conn, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`)
	if left != 0 {
		t.Errorf("%d connections are still in a transaction", left)
	}
}

func TestReadUsesOneRoundTripPerRead(t *testing.T) {
	dsn := storagetest.Postgres(t)
	proxy := newCounter(t, dsn)
	engine := open(t, postgres.Config{URL: always(proxy.dsn), SQL: static("SELECT 'mail' AS queue, 1 AS ready"), MaxConns: 1})
	ready(t, engine, "mail")
	before := proxy.turns.Load()
	ready(t, engine, "mail")
	if got := proxy.turns.Load() - before; got != 1 {
		t.Errorf("a read took %d round trips, want 1", got)
	}
}

func TestReadGivesUpASlowStatement(t *testing.T) {
	engine := open(t, postgres.Config{
		URL: always(storagetest.Postgres(t)), SQL: static("SELECT 'mail' AS queue, 1 AS ready FROM pg_sleep(60)"), Timeout: 100 * time.Millisecond,
	})
	mustFail(t, engine, driver.Timeout, "did not answer in time")
}

// Case 54.
func TestReadGivesUpALockedTableAndLeavesNoWaiter(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, "CREATE TABLE jobs (queue text, ready bigint)", "INSERT INTO jobs VALUES ('mail', 1)",
		"BEGIN", "LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
	engine := open(t, postgres.Config{URL: always(dsn), SQL: static("SELECT * FROM jobs"), Timeout: 200 * time.Millisecond})
	// More reads than connections, at the same time, and the very first: parsing waits for the lock already.
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			_, err := engine.Read(t.Context(), every)
			var known *driver.Error
			if !errors.As(err, &known) || known.Kind != driver.Timeout {
				t.Errorf("got %v, want a timeout", err)
			}
		})
	}
	group.Wait()
	mustFail(t, engine, driver.Timeout, "lock timeout")
	const waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
	eventually(t, "no backend waits for the lock", func() bool { return number(t, conn, waiting) == 0 })
	run(t, conn, "COMMIT")
	if got := ready(t, engine, "mail"); got != 1 {
		t.Errorf("got %d ready after the lock was released, want 1", got)
	}
}

func TestReadThatItsCallerGivesUpIsCancelledOnTheServer(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	engine := open(t, postgres.Config{URL: always(dsn), SQL: static("SELECT 'mail' AS queue, 1 AS ready FROM pg_sleep(60)"), Timeout: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := engine.Read(ctx, every)
		done <- err
	}()
	const sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
	eventually(t, "the statement runs", func() bool { return number(t, conn, sleeping) == 1 })
	cancel()
	select {
	case err := <-done:
		if err == nil {
			t.Error("want an error")
		}
	case <-time.After(patience):
		t.Fatal("Read did not return after its context ended")
	}
	eventually(t, "the server has stopped the statement", func() bool { return number(t, conn, sleeping) == 0 })
}

// Case 49.
func TestReadsShareASmallPool(t *testing.T) {
	cluster := storagetest.StartCluster(t, storagetest.Setting("max_connections", "20"))
	dsn := cluster.Database(t)
	conn := connect(t, dsn)
	engine := open(t, postgres.Config{URL: always(dsn), SQL: static("SELECT 'mail' AS queue, 1 AS ready FROM pg_sleep(0.002)")})
	var group sync.WaitGroup
	for range 200 {
		group.Go(func() {
			if _, err := engine.Read(t.Context(), every); err != nil {
				t.Error(err)
			}
		})
	}
	most := 0
	eventually(t, "the pool is seen at work", func() bool {
		most = max(most, number(t, conn, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"))
		return most > 0
	})
	group.Wait()
	most = max(most, number(t, conn, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"))
	if most > postgres.DefaultMaxConns {
		t.Errorf("%d connections, want at most %d", most, postgres.DefaultMaxConns)
	}
}

func TestReadSaysWhenAllConnectionsAreBusy(t *testing.T) {
	engine := open(t, postgres.Config{
		URL: always(storagetest.Postgres(t)), SQL: static("SELECT 'mail' AS queue, 1 AS ready FROM pg_sleep(1)"), MaxConns: 1, Timeout: 10 * time.Second,
	})
	var group sync.WaitGroup
	defer group.Wait()
	started := make(chan struct{})
	group.Go(func() {
		close(started)
		_, _ = engine.Read(t.Context(), every)
	})
	<-started
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	eventually(t, "a read finds the pool busy", func() bool {
		_, err := engine.Read(ctx, every)
		var known *driver.Error
		return errors.As(err, &known) && known.Kind == driver.Timeout
	})
}

func TestReadComesBackAfterTheServerWasRestarted(t *testing.T) {
	cluster := storagetest.StartCluster(t)
	engine := open(t, postgres.Config{URL: always(cluster.SuperuserURL()), SQL: static("SELECT 'mail' AS queue, 1 AS ready")})
	ready(t, engine, "mail")
	cluster.Stop(t)
	mustFail(t, engine, driver.Unavailable, "cannot be reached", cluster.Address())
	cluster.Start(t)
	ready(t, engine, "mail")
	cluster.Kill(t)
	cluster.Start(t)
	ready(t, engine, "mail") // the idle connection is dead, and that costs no read
}

func TestReadConnectsWhereTheURLLeadsNow(t *testing.T) {
	first, second := storagetest.Postgres(t), storagetest.Postgres(t)
	for i, dsn := range []string{first, second} {
		run(t, connect(t, dsn), "CREATE TABLE jobs AS SELECT 'mail' AS queue, "+string(rune('1'+i))+" AS ready")
	}
	var mu sync.Mutex
	current := first
	source := func() (string, error) {
		mu.Lock()
		defer mu.Unlock()
		return current, nil
	}
	engine := open(t, postgres.Config{URL: source, SQL: static("SELECT * FROM jobs")})
	if got := ready(t, engine, "mail"); got != 1 {
		t.Errorf("got %d", got)
	}
	mu.Lock()
	current = second
	mu.Unlock()
	// The old connection ends, as with a password that was rotated and its sessions terminated.
	run(t, connect(t, second), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
	if got := ready(t, engine, "mail"); got != 2 {
		t.Errorf("got %d ready, want 2 of the new database", got)
	}
}

func TestReadSurvivesChangedColumns(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, "CREATE TABLE jobs AS SELECT 'mail' AS queue, 1 AS ready")
	engine := open(t, postgres.Config{URL: always(dsn), SQL: static("SELECT * FROM jobs")})
	ready(t, engine, "mail")
	run(t, conn, "ALTER TABLE jobs ADD COLUMN running int DEFAULT 7")
	reading, err := engine.Read(t.Context(), every)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]driver.Queue{{Name: "mail", Known: true, Ready: 1, Running: 7}}, reading.Queues); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefusesAQueryThatWrites(t *testing.T) {
	dsn := storagetest.Postgres(t)
	run(t, connect(t, dsn), "CREATE TABLE jobs (queue text, ready int)")
	writing := open(t, postgres.Config{URL: always(dsn), SQL: static("INSERT INTO jobs VALUES ('mail', 1) RETURNING *")})
	mustFail(t, writing, driver.Contract, "only reads")
	two := open(t, postgres.Config{URL: always(dsn), SQL: static("SELECT 'mail' AS queue, 1 AS ready; SELECT 2")})
	mustFail(t, two, driver.Contract, "one statement")
}
