package river_test

import (
	"context"
	"testing"
	"time"

	riverqueue "github.com/riverqueue/river"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/preset/river"
	"github.com/leadsman/leadsman/storage/storagetest"
)

func TestRiverOnPostgresKeepsTheContracts(t *testing.T) {
	conform(t, "")
}

func TestRiverOnPostgresInASchemaOfItsOwnKeepsTheContracts(t *testing.T) {
	conform(t, "MyJobs")
}

func conform(t *testing.T, schema string) {
	t.Helper()
	storagetest.Run(t, storagetest.Harness{
		Open: func(t *testing.T) (driver.Reader, storagetest.Fixture) {
			url := storagetest.Postgres(t)
			fixture := storagetest.RiverPostgresIn(t, url, schema)
			return open(t, url, schema), fixture
		},
		OpenBare: func(t *testing.T) driver.Reader { return open(t, storagetest.Postgres(t), schema) },
		Abilities: storagetest.Abilities{
			Push: driver.ModeListen, Everything: true, Lookahead: true, Paused: true, Retries: true, Orphans: true,
		},
	})
}

func open(t *testing.T, url, schema string) *postgres.Engine {
	t.Helper()
	engine, err := postgres.Open(postgres.Config{
		URL: func() (string, error) { return url, nil }, Schema: schema, SQL: *river.Preset.Postgres,
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func TestPausingAndResumingIsAnnounced(t *testing.T) {
	dsn := storagetest.Postgres(t)
	fixture := storagetest.RiverPostgres(t, dsn)
	fixture.Finish("mail", 1) // River pauses only queues that have been served
	ctx, cancel := context.WithCancel(t.Context())
	signals, ended := make(signalChan, 100), make(chan error, 1)
	e := engine(t, dsn, "")
	go func() { ended <- e.Watch(ctx, signals) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	signals.await(t, "") // it listens
	for _, step := range []struct {
		do     func(context.Context, string, *riverqueue.QueuePauseOpts) error
		queue  string
		signal string
	}{
		{fixture.Client().QueuePause, "mail", "mail"},
		{fixture.Client().QueueResume, "*", ""}, // all of them
	} {
		if err := step.do(t.Context(), step.queue, nil); err != nil {
			t.Fatal(err)
		}
		signals.await(t, step.signal)
	}
}

// signalChan is a driver.Sink that passes signals on.
type signalChan chan string

func (c signalChan) Signal(queue string)      { c <- queue }
func (c signalChan) Push(driver.Mode, string) {}

// await takes signals until one names the queue.
func (c signalChan) await(t *testing.T, queue string) {
	t.Helper()
	for timeout := time.After(30 * time.Second); ; {
		select {
		case got := <-c:
			if got == queue {
				return
			}
		case <-timeout:
			t.Fatalf("no signal for %q", queue)
		}
	}
}
