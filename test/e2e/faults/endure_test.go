package faults

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

const (
	backlog = 42 // jobs in the queue busy, all the time

	// In less time than by default, so that a fault of seconds shows all: a read fails after a second, and the last known
	// value serves for four. Nothing is healed by looking again now and then, as it would be each 10 s.
	readTimeout = time.Second
	staleAfter  = 4 * time.Second
	sampling    = "sampling: {maxAge: 100ms, staleAfter: 4s, timeout: 1s, resync: 10m}\n"

	lasts = 3 * time.Second  // a fault that leadsman sees through
	grace = 60 * time.Second // until an outage shows, or what is left goes; generous
)

// A fault is something that goes wrong, and then no longer.
type fault struct {
	name       string
	begin, end func(t *testing.T, v *victim)
	// lasts is how long it lasts at least; 0 for as long as any.
	lasts time.Duration
	// outage says that nothing can be read meanwhile, so that KEDA has to be told an error in the end, for its fallback.
	outage bool
	// seenThrough says that leadsman goes on reading, and KEDA is told no error.
	seenThrough bool
	// keeps says that the last known value serves for as long as it may, although nothing can be read.
	keeps bool
	// hides says that a job that comes meanwhile is not due before the end, by the clock that the library goes by.
	hides bool
	// breaksStreams says that leadsman itself is what breaks: nobody is there to end its streams well.
	breaksStreams bool
	// pushed is the push mode before and, unless it is "", after the fault.
	pushed string
}

// A victim is what faults befall: a store, and leadsman that reads it.
type victim struct {
	store

	kind    string // of the store, for people
	network *network
	server  *rig.Server
}

// befalls starts leadsman on a store, through the network if there is one.
func befalls(t *testing.T, kind string, s store, n *network) *victim {
	t.Helper()
	return befallsOn(t, rig.NewServer(t), kind, s, n)
}

// befallsOn is befalls on a server that is not started yet.
func befallsOn(t *testing.T, server *rig.Server, kind string, s store, n *network) *victim {
	t.Helper()
	address := ""
	if n != nil {
		address = n.address()
	}
	server.Configure("sources: {mail: " + s.source(address) + "}\n" + sampling)
	server.Start()
	return &victim{store: s, kind: kind, network: n, server: server}
}

// endures has a fault befall a victim and holds what KEDA is told against the promises.
func endures(t *testing.T, v *victim, f fault) {
	t.Helper()
	v.fill("busy", backlog)
	busy := rig.External(t, v.server, rig.Trigger{Object: "busy", Metadata: rig.Metadata{"queue": "busy"}})
	idle := rig.ExternalPush(t, v.server, rig.Trigger{Object: "idle", Index: 1, Metadata: rig.Metadata{"queue": "idle"}})
	idle.Opens()
	busy.Becomes(backlog)
	idle.Becomes(0)
	v.isPushed(t, f.pushed)
	before := v.footprint(t)
	job := &arrival{hidden: f.hides, done: make(chan struct{})}
	backlogs, arrivals := newWitness(busy, judgeBacklog), newWitness(&idle.Scaler, job.judge)

	backlogs.watch(t)
	began := time.Now()
	f.begin(t, v)
	job.enqueue(t, v.store, "idle", "1")
	arrivals.watch(t)
	hold(t, f, backlogs, began)
	f.end(t, v)
	over := time.Now()
	job.shows(over)

	if n := backlogs.errorsBetween(began, began.Add(staleAfter/4)); f.keeps && n > 0 {
		t.Errorf("KEDA was told %d errors, though the last known value was not %v old", n, staleAfter)
	}
	if n := backlogs.errorsSince(began); f.seenThrough && n > 0 {
		t.Errorf("KEDA was told %d errors, though all could be read", n)
	}
	r := row{source: v.kind, fault: f.name, told: summary(backlogs.between(began, over))}
	r.woken = wokenBy(t, idle, job, over)
	r.early = r.woken < 0
	idle.Becomes(1)
	busy.Becomes(backlog)
	r.value = backlogs.rightAfter(t, over)
	backlogs.end()
	arrivals.end()
	t.Log(r)
	told.add(r)
	if r.woken > *within {
		t.Errorf("the worker was woken %v after the fault was over and its job there", r.woken)
	}

	wakesAgain(t, v, idle)
	v.isPushed(t, f.pushed)
	v.leavesNothing(t, before)
	if !f.breaksStreams {
		if errs := append(rig.StreamErrors(idle.Object), rig.StreamErrors(busy.Object)...); len(errs) > 0 {
			t.Errorf("the fault ended a stream: %q", errs)
		}
	}
}

// hold lets the fault last: an outage until KEDA has been told of it.
func hold(t *testing.T, f fault, w *witness, began time.Time) {
	t.Helper()
	<-time.After(time.Until(began.Add(max(lasts, f.lasts))))
	if f.outage {
		rig.Eventually(t, grace, "KEDA is told an error", func() bool { return w.errorsSince(began) >= 5 })
	}
}

// judgeBacklog is for a queue whose jobs stay: another value, zero above all, is never right.
func judgeBacklog(a answer) error {
	if a.err != nil {
		return mayFail(a.err)
	}
	if a.value != backlog || !a.active {
		return fmt.Errorf("value %v, active %v, with %d jobs in the queue", a.value, a.active, backlog)
	}
	return nil
}

// wokenBy waits for the wake that a job leads to and returns how long after the end of the fault, or after the job's
// commit if that was later, it came. It is negative for one that came during the fault.
func wokenBy(t *testing.T, p *rig.PushScaler, j *arrival, over time.Time) time.Duration {
	t.Helper()
	committed := j.committed(t)
	at := p.Woken(grace)
	if at.Before(j.tried) {
		t.Error("a true was pushed before there was a job")
	}
	if at.Before(over) {
		return -1
	}
	return at.Sub(later(over, committed))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// wakesAgain makes sure that all is as it was before: a drained queue, and a job that wakes.
func wakesAgain(t *testing.T, v *victim, idle *rig.PushScaler) {
	t.Helper()
	v.drain("idle")
	idle.Becomes(0)
	idle.Forget()
	idle.WokenBy(func() { v.fill("idle", 1) }, *within)
}

// isPushed waits for the push mode, if one is named.
func (v *victim) isPushed(t *testing.T, mode string) {
	t.Helper()
	if mode != "" {
		rig.Eventually(t, grace, "changes are noticed by "+mode, func() bool {
			return v.metric(t, `leadsman_push_mode{mode="`+mode+`",source="mail"}`) == 1
		})
	}
}

// A footprint is what leadsman holds.
type footprint struct{ goroutines, connections int }

func (v *victim) footprint(t *testing.T) footprint {
	t.Helper()
	return footprint{int(v.metric(t, "go_goroutines")), v.connections(t)}
}

// leavesNothing waits until leadsman holds no more than before.
func (v *victim) leavesNothing(t *testing.T, before footprint) {
	t.Helper()
	const perConnection = 4 // goroutines at most
	var now footprint
	for deadline := time.Now().Add(grace); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		now = v.footprint(t)
		more := max(0, now.connections-before.connections)
		if now.connections <= v.mostConnections() && now.goroutines <= before.goroutines+perConnection*(more+1) {
			return
		}
	}
	t.Errorf("leadsman holds %+v, and %+v before the fault", now, before)
}

// metric reads one of leadsman's own metrics; -1 if there is none. KEDA's polls keep the connection that they have.
func (v *victim) metric(t *testing.T, name string) float64 {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := client.Get("http://" + v.server.HTTP + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, name+" "); found {
			n, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return -1
}
