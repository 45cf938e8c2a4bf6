package chain

import (
	"syscall"
	"testing"
	"time"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// Whichever replica of leadsman KEDA is connected to, and in whatever way that one ends: what is enqueued meanwhile starts its
// worker, and workers that have work keep it.
func TestRestartsOfLeadsmanLoseNoWakeAndNoWorker(t *testing.T) {
	t.Parallel()
	app := rig.NewRiverApp(t)
	app.Enqueue("mail", backlog)
	r := install(t, app.Source())
	first, second := r.replicas[0], r.replicas[1]
	faults := []struct {
		name string
		do   func(enqueue func()) (recovered time.Time)
	}{
		// KEDA opens a stream that broke after 2 s, and after 4 s and more if it is not the first time: until one ends well.
		{"the first replica is killed", func(enqueue func()) time.Time { return kill(first, enqueue) }},
		{"the second replica is killed", func(enqueue func()) time.Time { return kill(second, enqueue) }},
		{"the first replica is replaced", func(enqueue func()) time.Time { return replace(first, enqueue) }},
		{"the second replica is replaced", func(enqueue func()) time.Time { return replace(second, enqueue) }},
		{"all replicas are restarted", func(enqueue func()) time.Time {
			first.Stop()
			second.Stop()
			enqueue()
			first.Start()
			recovered := time.Now() // one is enough
			second.Start()
			return recovered
		}},
	}
	s := newSite(t, r, len(faults))
	for _, fault := range faults {
		s.wakes(fault.name, fault.do(func() { app.Enqueue(s.queue(), 1) }))
	}
	s.calm()
}

// replace is what a rolling update does with one replica. The other one is there all the time, so the recovery is at once.
func replace(replica *rig.Server, enqueue func()) (recovered time.Time) {
	replica.Stop()
	enqueue()
	recovered = time.Now()
	replica.Start()
	return recovered
}

// kill is what is left of a replica whose node is lost, until there is another one.
func kill(replica *rig.Server, enqueue func()) (recovered time.Time) {
	replica.Kill()
	enqueue()
	recovered = time.Now()
	replica.Start()
	return recovered
}

// All tests share the operator: this one runs alone, before those that are parallel.
func TestRestartOfKEDALosesNoWakeAndNoWorker(t *testing.T) {
	app := rig.NewRiverApp(t)
	app.Enqueue("mail", backlog)
	s := newSite(t, install(t, app.Source()), 1)

	if err := syscall.Kill(kube.OperatorPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	app.Enqueue(s.queue(), 1)
	if err := kube.RestartOperator(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wakes("KEDA's operator is killed and started again", time.Now())
	s.calm()
}
