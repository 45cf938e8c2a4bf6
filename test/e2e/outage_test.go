package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// With the database down KEDA's fallback takes over, and it does so only if the metric spec is answered and the
// metric is an error: a zero would take all workers away.
func TestDatabaseOutageIsAnErrorAndNeverAZero(t *testing.T) {
	t.Parallel()
	cluster := storagetest.StartCluster(t)
	a := newAppOn(t, cluster.Database(t))
	a.enqueue("mail", 42)
	const staleAfter = 2 * time.Second
	s := serve(t, a.source()+fmt.Sprintf("sampling: {maxAge: 100ms, staleAfter: %s}\n", staleAfter))
	x := external(t, s, trigger{metadata: metadata{"queue": "mail"}})
	idle := externalPush(t, s, trigger{object: "idle", index: 1, metadata: metadata{"queue": "idle"}})
	idle.opens()
	idle.wants(0)
	x.wants(42)
	name, spec := x.name(), x.spec()

	cluster.Stop(t)
	down := time.Now()
	for failed := 0; failed < 20; {
		if diff := cmp.Diff(spec, x.spec()); diff != "" {
			t.Fatalf("the metric spec changed in an outage:\n%s", diff)
		}
		value, active, err := x.poll(name)
		switch {
		case err == nil && (value != 42 || !active):
			t.Fatalf("value %v, active %v in an outage; want the last known one or an error", value, active)
		case err == nil && failed > 0:
			t.Fatalf("value %v after an error, in the same outage", value)
		case err == nil && time.Since(down) > staleAfter+10*time.Second:
			t.Fatalf("still the last known value %v after the outage began", time.Since(down))
		case err != nil && status.Code(err) != codes.Unavailable:
			t.Fatalf("the error is %v, want Unavailable", err)
		case err != nil:
			failed++
		}
	}
	select {
	case <-idle.wakes:
		t.Error("an outage woke an idle trigger")
	default:
	}

	cluster.Start(t)
	x.becomes(42)
	idle.wokenBy(func() { a.enqueue("idle", 1) }, resync)
	if errs := streamErrors(idle.object); len(errs) > 0 {
		t.Errorf("the outage ended a stream: %q", errs)
	}
}

// A ScaledObject may be created, and the server started, while the database is away.
func TestServerStartsDuringAnOutage(t *testing.T) {
	t.Parallel()
	cluster := storagetest.StartCluster(t)
	a := newAppOn(t, cluster.Database(t))
	a.enqueue("mail", 3)
	cluster.Stop(t)
	p := externalPush(t, serve(t, a.source()), trigger{metadata: metadata{"queue": "mail"}})
	p.opens()
	if _, _, err := p.poll(p.name()); status.Code(err) != codes.Unavailable {
		t.Errorf("the metric of a database that was never reached: %v, want Unavailable", err)
	}
	cluster.Start(t)
	p.woken(resync)
	p.becomes(3)
}
