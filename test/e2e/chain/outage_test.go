package chain

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// forgetSoon is a configuration by which an outage that is longer than that is an error and no longer the last value.
const forgetSoon = "sampling: {staleAfter: 2s}\n"

// A backend is a database of jobs that can be down.
type backend struct {
	source      string // configuration of leadsman
	fill        func(n int)
	enqueueOnce func(ctx context.Context, queue, id string) error
	down, up    func()
}

// While the database is away nobody knows what there is to do: workers that had work keep their replicas. When it is back,
// what comes then starts its worker.
func TestRestartOfTheDatabaseLosesNoWakeAndNoWorker(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) backend{"PostgreSQL": postgres, "Redis": redis} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			b.fill(backlog)
			s := newSite(t, install(t, b.source+forgetSoon), 2)
			for i, fault := range []string{"a restart", "an outage that KEDA sees"} {
				b.down()
				if i == 1 {
					rig.Eventually(t, settled, "KEDA's polls fail", s.busy.failing)
				}
				enqueued := b.enqueueAsSoonAsPossible(t, s.queue())
				b.up()
				s.wakes(fault, <-enqueued)
				rig.Eventually(t, settled, "KEDA's polls succeed", s.busy.happy)
			}
			s.calm()
		})
	}
}

// enqueueAsSoonAsPossible tries to enqueue until the database takes it, and returns when that was.
func (b backend) enqueueAsSoonAsPossible(t *testing.T, queue string) <-chan time.Time {
	enqueued := make(chan time.Time, 1)
	ctx, cancel := context.WithTimeout(t.Context(), settled)
	tried := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-tried
	})
	go func() {
		defer close(tried)
		defer close(enqueued)
		for ctx.Err() == nil {
			if err := b.enqueueOnce(ctx, queue, "1"); err == nil {
				enqueued <- time.Now()
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Errorf("nothing could be enqueued within %v", settled)
	}()
	return enqueued
}

func postgres(t *testing.T) backend {
	server := storagetest.StartCluster(t)
	app := rig.NewRiverAppOn(t, server.Database(t))
	return backend{
		source:      app.Source(),
		fill:        func(n int) { app.Enqueue("mail", n) },
		enqueueOnce: app.EnqueueOnce,
		down:        func() { server.Stop(t) },
		up:          func() { server.Start(t) },
	}
}

func redis(t *testing.T) backend {
	app := rig.NewAsynqApp(t)
	return backend{
		source: app.Source(),
		fill: func(n int) {
			for range n {
				app.Enqueue()
			}
		},
		enqueueOnce: app.EnqueueOnce,
		down:        func() { app.Server.Kill(t) },
		up:          func() { app.Server.Start(t) },
	}
}

// When KEDA has polled in vain as often as the spec says, there are the replicas that it says, for workers with work and for
// those without; after the outage there are as many again as the queue is worth.
func TestOutageLeadsToTheFallbackAndBack(t *testing.T) {
	t.Parallel()
	b := postgres(t)
	b.fill(20)
	r := install(t, b.source+forgetSoon)
	w := newWorker(t)
	idle := newWorkerIn(t, w.name.Namespace, "idle")
	fallback := map[string]any{"replicas": 4, "after": 2}
	w.scaled(r, spec{"target": 10, "fallback": fallback})
	idle.scaled(r, spec{"queue": "idle", "fallback": fallback})
	w.becomes(2)
	idle.ready()
	for _, w := range []*worker{w, idle} {
		w.shows("FALLBACK", "False")
	}

	seen := w.record()
	b.down()
	w.becomes(4)
	idle.becomes(4)
	for _, w := range []*worker{w, idle} {
		w.shows("FALLBACK", "True")
	}

	b.up()
	w.becomes(2)
	idle.becomes(0)
	for _, w := range []*worker{w, idle} {
		w.shows("FALLBACK", "False")
	}
	seen.neverBelow(t, 2)
	t.Log(fmt.Sprint("numbers of replicas: ", seen.numbers()))
}
