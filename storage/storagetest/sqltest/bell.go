package sqltest

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

// A Ring is something that a job library does to its tables, in a transaction of its own.
type Ring struct {
	Name string
	Do   func()
	// Queue is whom the bell has to ring for, by the name that the preset's query returns; "" is nobody.
	Queue string
}

// Bell installs the bell of a preset on the library's tables, twice, and holds it to being armed and heard, and to ringing
// for an insert into the queue mail and for what rings returns, and for nothing else.
func Bell[F storagetest.Fixture](t *testing.T, preset driver.SQL, newFixture func(*DB) F, rings func(F, *DB) []Ring) {
	t.Helper()
	db := Postgres(t, storagetest.Postgres(t))
	f := newFixture(db)
	f.Insert("mail", 1) // some libraries make a table for it
	for range 2 {
		InstallBell(t, preset, db)
	}
	all := append([]Ring{{"an insert", func() { f.Insert("mail", 1) }, "mail"}}, rings(f, db)...)
	t.Run("heard", func(t *testing.T) {
		awaitSignal(t, OpenPostgres(t, preset, db.URL(), ""), func() { f.Insert("mail", 1) })
	})
	ear := listenToBell(t, preset, db)
	for _, ring := range all {
		t.Run(ring.Name, func(t *testing.T) {
			ring.Do()
			var want []int
			if ring.Queue != "" {
				want = []int{ear.bucket(ring.Queue)}
			}
			if got := ear.rung(); !slices.Equal(got, want) {
				t.Errorf("it rang in buckets %v, want %v", got, want)
			}
		})
	}
}

// InstallBell runs what leadsman trigger-sql prints.
func InstallBell(t *testing.T, preset driver.SQL, db *DB) {
	t.Helper()
	text, err := postgres.BellSQL(preset, "")
	if err != nil {
		t.Fatal(err)
	}
	db.Exec(text)
}

// signals is a driver.Sink.
type signals struct {
	modes chan driver.Mode
	queue chan string
}

func (s signals) Signal(queue string) { s.queue <- queue }
func (s signals) Push(mode driver.Mode, reason string) {
	if reason == "" {
		s.modes <- mode
	}
}

// awaitSignal watches until the bell is armed and then for the signal for mail that insert has to cause.
func awaitSignal(t *testing.T, engine *postgres.Engine, insert func()) {
	t.Helper()
	ReadQueue(t, engine, "mail") // somebody wants it
	s := signals{make(chan driver.Mode, 100), make(chan string, 1000)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- engine.Watch(ctx, s) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Watch: %v", err)
		}
	}()
	patience := time.After(timeout)
	for armed := false; ; {
		select {
		case mode := <-s.modes:
			if mode != driver.ModeBell {
				t.Fatalf("the mode is %q", mode)
			}
		case queue := <-s.queue:
			switch {
			case queue == "" && !armed: // the first, when it has begun to listen
				armed = true
				insert()
			case queue == "mail" && armed:
				return
			}
		case <-patience:
			t.Fatalf("no signal for mail; armed: %t", armed)
		}
	}
}

// An ear is a reader that never lets go of the bell.
type ear struct {
	t    *testing.T
	conn *pgx.Conn
}

func listenToBell(t *testing.T, preset driver.SQL, db *DB) ear {
	t.Helper()
	ctx := context.Background() // for the clean-up too
	conn, err := pgx.Connect(ctx, db.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) }) // nothing is lost with it
	var class int
	var channel string
	err = conn.QueryRow(ctx, `SELECT substring(d FROM 'class (\d+)')::int, substring(d FROM 'channel (\w+)')
		FROM (SELECT obj_description(p.oid, 'pg_proc') AS d FROM pg_proc p WHERE p.proname = $1) AS bell`,
		"leadsman_bell_"+preset.Bell.Preset).Scan(&class, &channel)
	if err != nil {
		t.Fatal(err)
	}
	e := ear{t, conn}
	e.exec("LISTEN "+channel, "LISTEN end_of_rings",
		"SELECT pg_advisory_lock_shared("+strconv.Itoa(class)+", k) FROM generate_series(0, 511) AS k")
	return e
}

func (e ear) exec(statements ...string) {
	e.t.Helper()
	for _, statement := range statements {
		if _, err := e.conn.Exec(e.t.Context(), statement); err != nil {
			e.t.Fatalf("%s: %v", statement, err)
		}
	}
}

// bucket is that of a queue.
func (e ear) bucket(queue string) (n int) {
	e.t.Helper()
	if err := e.conn.QueryRow(e.t.Context(), "SELECT hashtext($1) & 63", queue).Scan(&n); err != nil {
		e.t.Fatal(err)
	}
	return n
}

// rung returns the buckets that have rung since it was last asked.
func (e ear) rung() []int {
	e.t.Helper()
	e.exec("NOTIFY end_of_rings") // notifications come in the order of their commits
	var buckets []int
	for {
		heard, err := e.conn.WaitForNotification(e.t.Context())
		switch {
		case err != nil:
			e.t.Fatal(err)
		case heard.Channel == "end_of_rings":
			slices.Sort(buckets)
			return slices.Compact(buckets)
		}
		n, err := strconv.Atoi(heard.Payload)
		if err != nil {
			e.t.Fatalf("the payload is %q", heard.Payload)
		}
		buckets = append(buckets, n)
	}
}
