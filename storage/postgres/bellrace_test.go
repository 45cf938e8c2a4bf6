package postgres_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/postgres"
	"github.com/leadsman/leadsman/storage/storagetest"
)

var raceRounds = flag.Int("bell.rounds", 3000, "rounds of the armed bell's race")

const (
	racers = 6 // inserters, each with a queue of its own
	// lost is after how long a job that nobody has seen counts as lost. Nothing heals during a race: there is no check
	// that signals, and no other queue's signal says anything of this one.
	lost = 10 * time.Second
)

// raceSQL reads how many jobs a queue holds and, in the guise of scheduled ones, the highest round among them.
func raceSQL() driver.SQL {
	return driver.SQL{
		Query: `SELECT w.queue, 0::float8 AS lookahead, count(j.id) AS ready, coalesce(max(j.id), 0) AS scheduled
			FROM jsonb_to_recordset(@wants::jsonb) AS w(queue text)
			LEFT JOIN {schema}jobs j ON j.queue = w.queue AND NOT j.held GROUP BY w.queue`,
		Bell: &driver.Bell{
			Preset: "race", Queue: "NEW.queue",
			Tables: []driver.BellTable{{Name: "jobs", Insert: "NOT NEW.held", Update: "NOT NEW.held AND OLD.held"}},
		},
	}
}

// A race is inserters against readers that arm, wake, disarm and die. In each round an inserter commits one job into its
// empty queue, in one of many ways, and every reader has to see it. The readers are engines that watch, each with a
// stand-in for the server: it reads a queue after a signal for it, and at no other time.
type race struct {
	t       *testing.T
	dsn     string
	queues  [racers]string
	readers []*raceReader
	bound   time.Duration
	ways    []func(*inserter)
	rounds  atomic.Int64         // left
	waiting [racers]atomic.Int64 // when each inserter began to wait, in ns; 0 while it does not
	lost    atomic.Int64
	enough  int64         // ends the race when so many are lost; 0 for never
	worst   atomic.Int64  // ns from the commit until the last reader has seen the job
	two     chan struct{} // bounds the prepared transactions, of which the server takes few
	channel string        // where the bell rings
}

// newRace makes a race of so many rounds and readers. breakIt makes the engines wrong, for the controls.
func newRace(t *testing.T, rounds, readers int, breakIt func(*postgres.Engine)) *race {
	t.Helper()
	r := &race{t: t, dsn: storagetest.Postgres(t), bound: lost, ways: ways, two: make(chan struct{}, 3)}
	conn := connect(t, r.dsn)
	run(t, conn, "CREATE TABLE jobs (id bigint PRIMARY KEY, queue text, held boolean NOT NULL DEFAULT false)",
		"CREATE INDEX ON jobs (queue)", bellSQL(t, raceSQL()))
	r.channel = bellChannel(t, conn, "race")
	r.rounds.Store(int64(rounds))
	// Queues of the same bucket would ring for each other.
	for i := range r.queues {
		if err := conn.QueryRow(t.Context(), `SELECT 'queue-' || n FROM generate_series(1, 1000) AS n
			WHERE hashtext('queue-' || n) & 63 = $1 ORDER BY n LIMIT 1`, bucketOf(i)).Scan(&r.queues[i]); err != nil {
			t.Fatal(err)
		}
	}
	for range readers {
		r.readers = append(r.readers, r.newReader(breakIt))
	}
	return r
}

// bucketOf is the bucket of the i-th inserter's queue.
func bucketOf(i int) int { return 7 * i }

// run holds the race.
func (r *race) run() {
	stop, cancel := context.WithCancel(r.t.Context())
	var readers, inserters sync.WaitGroup
	for _, reader := range r.readers {
		readers.Go(func() { reader.live(stop) })
		readers.Go(func() { reader.serve(stop) })
	}
	readers.Go(func() { r.kill(stop) })
	for i := range r.queues {
		in := r.newInserter(i)
		inserters.Go(func() {
			for r.rounds.Add(-1) >= 0 && (r.enough == 0 || r.lost.Load() < r.enough) && r.t.Context().Err() == nil {
				in.round()
			}
		})
	}
	inserters.Wait()
	cancel()
	readers.Wait()
	conn := connect(r.t, r.dsn)
	eventually(r.t, "no lock is left behind", func() bool { return number(r.t, conn, bellLocks) == 0 })
}

// calm waits for a while, up to twice d, and then until no job has been waiting for long. A reader that is born sees all
// there is, and so a death must not mend what was lost. It returns false when stop has come.
func (r *race) calm(stop context.Context, d time.Duration) bool {
	for wait := d + rand.N(d); ; wait = 10 * time.Millisecond {
		select {
		case <-stop.Done():
			return false
		case <-time.After(wait):
		}
		long := false
		for i := range r.waiting {
			since := r.waiting[i].Load()
			long = long || since != 0 && time.Since(time.Unix(0, since)) > 150*time.Millisecond
		}
		if !long {
			return true
		}
	}
}

// kill cuts off a reader's listening connection now and then.
func (r *race) kill(stop context.Context) {
	conn := connect(r.t, r.dsn)
	for r.calm(stop, 1500*time.Millisecond) {
		_, err := conn.Exec(context.WithoutCancel(stop), `SELECT pg_terminate_backend(l.pid) FROM pg_locks l
			WHERE l.locktype = 'advisory' AND l.mode = 'ShareLock' AND l.database =
				(SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY random() LIMIT 1`)
		if err != nil {
			r.t.Error(err)
		}
	}
}

// A raceReader is an engine that watches, and the server's stand-in behind it.
type raceReader struct {
	race   *race
	engine *postgres.Engine
	poke   chan struct{} // size 1: something is dirty

	mu    sync.Mutex
	dirty map[string]bool

	seen map[string]*atomic.Int64 // queue → the highest round seen
	news [racers]chan struct{}    // size 1 each: seen has changed
}

func (r *race) newReader(breakIt func(*postgres.Engine)) *raceReader {
	r.t.Helper()
	engine := open(r.t, postgres.Config{URL: always(r.dsn), SQL: raceSQL()})
	engine.Hurry(postgres.Rest(3*time.Millisecond), postgres.Tick(time.Millisecond), postgres.Check(time.Hour), postgres.Deadline(lost))
	if breakIt != nil {
		breakIt(engine)
	}
	out := &raceReader{race: r, engine: engine, poke: make(chan struct{}, 1), dirty: map[string]bool{}, seen: map[string]*atomic.Int64{}}
	for i, queue := range r.queues {
		ready(r.t, engine, queue) // it is wanted from now on
		out.seen[queue] = new(atomic.Int64)
		out.news[i] = make(chan struct{}, 1)
	}
	return out
}

// live watches, and now and then dies and is born again.
func (r *raceReader) live(stop context.Context) {
	for stop.Err() == nil {
		ctx, die := context.WithCancel(stop)
		var fate sync.WaitGroup
		fate.Go(func() {
			defer die()
			r.race.calm(stop, 2*time.Second)
		})
		if err := r.engine.Watch(ctx, r); err != nil {
			r.race.t.Errorf("Watch: %v", err)
		}
		die()
		fate.Wait()
	}
}

// Push implements driver.Sink.
func (r *raceReader) Push(driver.Mode, string) {}

// Signal implements driver.Sink.
func (r *raceReader) Signal(queue string) {
	r.mu.Lock()
	if queue != "" {
		r.dirty[queue] = true
	} else {
		for _, each := range r.race.queues {
			r.dirty[each] = true
		}
	}
	r.mu.Unlock()
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// serve reads what has been signalled, as the server does for streams that wait.
func (r *raceReader) serve(stop context.Context) {
	for {
		select {
		case <-stop.Done():
			return
		case <-r.poke:
		}
		r.mu.Lock()
		var req driver.Request
		for queue := range r.dirty {
			req.Wants = append(req.Wants, driver.Want{Queue: queue})
		}
		clear(r.dirty) // before the read
		r.mu.Unlock()
		reading, err := r.engine.Read(stop, req)
		if err != nil {
			if stop.Err() == nil {
				r.race.t.Errorf("Read: %v", err)
			}
			return
		}
		for _, q := range reading.Queues {
			if seen := r.seen[q.Name]; q.Scheduled > seen.Load() {
				seen.Store(q.Scheduled)
			}
		}
		for _, news := range r.news {
			select {
			case news <- struct{}{}:
			default:
			}
		}
	}
}

// await waits until the reader has seen a round of the i-th queue.
func (r *raceReader) await(i int, round int64, deadline <-chan time.Time) bool {
	for seen := r.seen[r.race.queues[i]]; seen.Load() < round; {
		select {
		case <-r.news[i]:
		case <-deadline:
			return seen.Load() >= round
		}
	}
	return true
}

// Nothing is lost whatever inserters and readers do. The race is long with -bell.rounds (make test-bell).
func TestBellLosesNoWake(t *testing.T) {
	start := time.Now()
	for readers := 1; readers <= 3; readers++ {
		t.Run(fmt.Sprint(readers, " readers"), func(t *testing.T) {
			r := newRace(t, *raceRounds/3, readers, nil)
			ear := eavesdropOn(t, r.dsn, "race")
			r.run()
			rings := ear.rings()
			t.Logf("%d rounds, %d lost, %d rings; the last reader saw a job %s after its commit at worst",
				*raceRounds/3, r.lost.Load(), rings, time.Duration(r.worst.Load()).Round(time.Millisecond))
			if r.lost.Load() > 0 {
				t.Errorf("%d wakes were lost", r.lost.Load())
			}
			if rings < *raceRounds/30 {
				t.Errorf("%d rings are too few to prove anything: the bell was hardly ever armed", rings)
			}
		})
	}
	t.Logf("%d rounds in %s", *raceRounds, time.Since(start).Round(time.Second))
}

// The race sees a loss where there is one.
func TestBellRaceSeesWhatIsLostWithoutTheProtocol(t *testing.T) {
	short := []func(*inserter){(*inserter).alone, (*inserter).copied}
	for name, control := range map[string]struct {
		breakIt func(*postgres.Engine)
		ways    []func(*inserter)
	}{
		"without waiting for transactions in progress": {(*postgres.Engine).ForgetPending, ways},
		// Long transactions of others would mend it: with the end of each there is another sample.
		"with the sample before the locks": {(*postgres.Engine).SampleFirst, short},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRace(t, 20_000, 1, control.breakIt)
			r.ways, r.bound, r.enough = control.ways, 2*time.Second, 3
			r.run()
			t.Logf("%d lost in %d rounds", r.lost.Load(), 20_000-max(0, r.rounds.Load()))
			if r.lost.Load() == 0 {
				t.Error("nothing was lost")
			}
		})
	}
}
