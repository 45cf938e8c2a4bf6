package postgres_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

const oneJob = "SELECT 'mail' AS queue, 1 AS ready"

func notify(t *testing.T, conn *pgx.Conn, payload string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), "SELECT pg_notify('Jobs: added', $1)", payload); err != nil {
		t.Fatal(err)
	}
}

func TestWatchReportsTheQueueThatANotificationNames(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	s := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: listening(static(oneJob))}))
	s.listens(t)
	if got := s.now().modes; len(got) != 1 {
		t.Errorf("got modes %v, want to listen at once", got)
	}
	notify(t, conn, "Mail Out")
	s.wait(t, "a signal for the queue", func(s seen) bool { return s.signals["Mail Out"] == 1 })
	notify(t, conn, "")
	s.wait(t, "a signal for all queues", func(s seen) bool { return s.signals[""] == 2 })
}

func TestWatchSignalsAgainAfterEachEcho(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	sql := listening(static(oneJob))
	sql.Listen.Echo = []time.Duration{10 * time.Millisecond, 30 * time.Millisecond}
	s := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: sql}))
	s.listens(t)
	notify(t, conn, "mail")
	s.wait(t, "the signal and its two echoes", func(s seen) bool { return s.signals["mail"] == 3 })
}

func TestWatchExpandsTheSchemaInChannels(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, `CREATE SCHEMA "a""b"`)
	for schema, channel := range map[string]string{"": "public.job", `a"b`: `a"b.job`} {
		sql := static(oneJob)
		sql.Listen = &driver.Listen{Channels: []string{"{schema}.job"}, Payload: "job.queue"}
		s := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: sql, Schema: schema}))
		s.listens(t)
		if _, err := conn.Exec(t.Context(), "SELECT pg_notify($1, $2)", channel, `{"job": {"queue": "mail"}}`); err != nil {
			t.Fatal(err)
		}
		s.wait(t, "a signal from channel "+channel, func(s seen) bool { return s.signals["mail"] == 1 })
	}
}

func TestWatchListensToTheChannelsThatAQueryFinds(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	run(t, conn, `CREATE SCHEMA "a""b"`, `CREATE TABLE "a""b".channels AS SELECT unnest(ARRAY['Odd: "name"', NULL, '', 'two'])`)
	sql := static(oneJob)
	sql.Listen = &driver.Listen{Channels: []string{"one"}, Query: "SELECT * FROM {schema}channels", Payload: driver.PayloadQueue}
	s := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: sql, Schema: `a"b`}))
	s.listens(t)
	for _, channel := range []string{"one", "two", `Odd: "name"`} {
		if _, err := conn.Exec(t.Context(), "SELECT pg_notify($1, $1)", channel); err != nil {
			t.Fatal(err)
		}
		s.wait(t, "a signal from channel "+channel, func(s seen) bool { return s.signals[channel] == 1 })
	}
}

func TestWatchWithAPresetThatAnnouncesNotAllSignalsAndHasItPolledToo(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	sql := listening(static(oneJob))
	sql.Listen.Partial = "only some queues announce their jobs"
	s := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: sql}))
	s.wait(t, "edge polling", func(s seen) bool {
		return s.mode == driver.ModeEdgePoll && s.why == sql.Listen.Partial && s.signals[""] == 1
	})
	notify(t, conn, "mail")
	s.wait(t, "a signal for the queue", func(s seen) bool { return s.signals["mail"] == 1 })
}

func TestWatchRefusesAPresetThatAnnouncesNothing(t *testing.T) {
	engine := open(t, postgres.Config{URL: always("host=127.0.0.1"), SQL: static(oneJob)})
	if err := engine.Watch(t.Context(), &sink{}); err == nil || !strings.Contains(err.Error(), "announces nothing") {
		t.Errorf("got %v", err)
	}
}

func TestWatchSaysWhyAChannelCannotBeListenedTo(t *testing.T) {
	dsn := storagetest.Postgres(t)
	sql := static(oneJob)
	sql.Listen = &driver.Listen{Channels: []string{strings.Repeat("x", 64)}}
	s := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: sql}))
	s.wait(t, "edge polling", func(s seen) bool { return s.mode == driver.ModeEdgePoll && strings.Contains(s.why, "63 bytes") })
}

func TestWatchReconnectsAndSignalsAllForWhatWasMissed(t *testing.T) {
	cluster := storagetest.StartCluster(t)
	s := watch(t, open(t, postgres.Config{URL: always(cluster.SuperuserURL()), SQL: listening(static(oneJob))}))
	s.listens(t)
	before := s.now().signals[""]
	run(t, connect(t, cluster.SuperuserURL()), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
	s.wait(t, "listening again, and a signal for all", func(s seen) bool {
		return s.mode == driver.ModeListen && len(s.modes) == 3 && s.signals[""] > before
	})
	cluster.Kill(t)
	s.wait(t, "edge polling", func(s seen) bool { return s.mode == driver.ModeEdgePoll })
	cluster.Start(t)
	s.listens(t)
	conn := connect(t, cluster.SuperuserURL())
	notify(t, conn, "mail")
	s.wait(t, "a signal", func(s seen) bool { return s.signals["mail"] > 0 })
}

func TestWatchNoticesAServerThatAnswersNoMore(t *testing.T) {
	cluster := storagetest.StartCluster(t)
	s := watch(t, open(t, postgres.Config{URL: always(cluster.SuperuserURL()), SQL: listening(static(oneJob))}))
	s.listens(t)
	cluster.Signal(t, syscall.SIGSTOP)
	s.wait(t, "edge polling", func(s seen) bool { return s.mode == driver.ModeEdgePoll })
	cluster.Signal(t, syscall.SIGCONT)
	s.listens(t)
}

// A process that is told to end has less time than pgx gives a server to take its request to cancel.
func TestCloseDoesNotWaitForAServerThatAnswersNoMore(t *testing.T) {
	cluster := storagetest.StartCluster(t)
	engine, err := postgres.Open(postgres.Config{
		URL: always(cluster.SuperuserURL()), SQL: listening(static(oneJob)), Timeout: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := watch(t, engine)
	s.listens(t)
	ready(t, engine, "mail")
	cluster.Signal(t, syscall.SIGSTOP)
	mustFail(t, engine, driver.Timeout)
	s.wait(t, "edge polling", func(s seen) bool { return s.mode == driver.ModeEdgePoll })
	storagetest.CloseInTime(t, engine)
	mustFail(t, engine, driver.Unavailable)
}

func TestWatchStaysHealthyInSilence(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	s := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: listening(static(oneJob))}))
	s.listens(t)
	// In a hurry the canary sings each 300 ms of silence.
	const sung = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'NOTIFY%leadsman_canary%' AND query_start > backend_start + interval '1 second'"
	eventually(t, "the canary sings on the listening connection", func() bool { return number(t, conn, sung) > 0 })
	if got := s.now(); len(got.modes) != 1 || len(got.signals) != 1 {
		t.Errorf("got %+v, want nothing new", got)
	}
}

// Case 53.
func TestWatchDrainsAlwaysAndOutsideOfTransactions(t *testing.T) {
	dsn := storagetest.Postgres(t)
	conn := connect(t, dsn)
	s := watch(t, open(t, postgres.Config{URL: always(dsn), SQL: listening(static(oneJob))}))
	s.listens(t)
	const bursts, each = 20, 5000
	for range bursts {
		run(t, conn, "SELECT pg_notify('Jobs: added', 'mail-' || g) FROM generate_series(1, 5000) g")
		open := number(t, conn, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND state LIKE 'idle in transaction%' AND datname = current_database()")
		if open != 0 {
			t.Fatal("the listening connection is in a transaction")
		}
	}
	s.wait(t, "every notification", func(s seen) bool {
		total := 0
		for _, n := range s.signals {
			total += n
		}
		return total >= bursts*each
	})
	eventually(t, "the server's queue is empty", func() bool {
		return number(t, conn, "SELECT (pg_notification_queue_usage() * 1e6)::int") == 0
	})
}

func TestWatchWorksForARoleThatMayOnlyRead(t *testing.T) {
	dsn := storagetest.Postgres(t)
	limited := newRole(t, dsn, "listener")
	conn := connect(t, dsn)
	run(t, conn, "ALTER ROLE listener SET default_transaction_read_only = on", "ALTER ROLE listener CONNECTION LIMIT 3")
	s := watch(t, open(t, postgres.Config{URL: always(limited), SQL: listening(static(oneJob))}))
	s.listens(t)
	notify(t, conn, "mail")
	s.wait(t, "a signal", func(s seen) bool { return s.signals["mail"] > 0 })
}

func TestWatchEndsWithItsContext(t *testing.T) {
	engine := open(t, postgres.Config{URL: always(storagetest.Postgres(t)), SQL: listening(static(oneJob))})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := engine.Watch(ctx, &sink{state: seen{signals: map[string]int{}}}); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}
