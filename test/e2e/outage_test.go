package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// With the database down KEDA's fallback takes over, and it does so only if the metric spec is answered and the
// metric is an error: a zero would take all workers away.
func TestDatabaseOutageIsAnErrorAndNeverAZero(t *testing.T) {
	t.Parallel()
	cluster := storagetest.StartCluster(t)
	a := rig.NewRiverAppOn(t, cluster.Database(t))
	a.Enqueue("mail", 42)
	const staleAfter = 2 * time.Second
	s := rig.Serve(t, a.Source()+fmt.Sprintf("sampling: {maxAge: 100ms, staleAfter: %s}\n", staleAfter))
	x := rig.External(t, s, rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}})
	idle := rig.ExternalPush(t, s, rig.Trigger{Object: "idle", Index: 1, Metadata: rig.Metadata{"queue": "idle"}})
	idle.Opens()
	idle.Wants(0)
	x.Wants(42)
	name, spec := x.Name(), x.Spec()

	cluster.Stop(t)
	down := time.Now()
	for failed := 0; failed < 20; {
		if diff := cmp.Diff(spec, x.Spec()); diff != "" {
			t.Fatalf("the metric spec changed in an outage:\n%s", diff)
		}
		value, active, err := x.Poll(name)
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
	case <-idle.Wakes:
		t.Error("an outage woke an idle trigger")
	default:
	}

	cluster.Start(t)
	x.Becomes(42)
	idle.WokenBy(func() { a.Enqueue("idle", 1) }, rig.Resync)
	if errs := rig.StreamErrors(idle.Object); len(errs) > 0 {
		t.Errorf("the outage ended a stream: %q", errs)
	}
}

// A ScaledObject may be created, and the server started, while the database is away.
func TestServerStartsDuringAnOutage(t *testing.T) {
	t.Parallel()
	cluster := storagetest.StartCluster(t)
	a := rig.NewRiverAppOn(t, cluster.Database(t))
	a.Enqueue("mail", 3)
	cluster.Stop(t)
	p := rig.ExternalPush(t, rig.Serve(t, a.Source()), rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}})
	p.Opens()
	if _, _, err := p.Poll(p.Name()); status.Code(err) != codes.Unavailable {
		t.Errorf("the metric of a database that was never reached: %v, want Unavailable", err)
	}
	cluster.Start(t)
	p.Woken(rig.Resync)
	p.Becomes(3)
}
