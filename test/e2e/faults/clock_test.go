package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// A step is how a clock is put off.
type step struct {
	name  string // what is done to the clock
	off   time.Duration
	lasts time.Duration // 0 for as long as any fault
}

func hours() []step {
	return []step{{name: "is put 1 h forward", off: time.Hour}, {name: "is put 1 h back", off: -time.Hour}}
}

// ages are for leadsman's own clock, which nothing may depend on but when credentials expire.
func ages() []step {
	const year = 365 * 24 * time.Hour
	return append(hours(),
		step{name: "is put 10 years forward", off: 10 * year},
		step{name: "is put to 1970", off: time.Until(time.Unix(0, 0)).Round(time.Second) + time.Hour})
}

func TestClockOfTheServerJumps(t *testing.T) {
	t.Parallel()
	for _, kind := range timedKinds {
		for _, by := range hours() {
			f := fault{
				name: "the server's clock " + by.name + ", and right again", pushed: kind.pushed, seenThrough: true, hides: kind.late && by.off < 0,
				begin: func(t *testing.T, v *victim) { v.store.(timed).setClock(t, by.off) },
				end:   func(t *testing.T, v *victim) { v.store.(timed).setClock(t, 0) },
			}
			t.Run(kind.name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				s := kind.start(t)
				v := befalls(t, kind.name, s, newNetwork(t, kind.address(s)))
				enduresAged(t, v, f, max(0, kind.waits-time.Hour), kind.waits+time.Hour)
			})
		}
	}
}

func TestClockOfLeadsmanJumps(t *testing.T) {
	t.Parallel()
	for _, kind := range timedKinds {
		// By a wall clock that was put back, gRPC's server hears nothing any more on the connections that it has. It pings them
		// after half a minute, and must not give them up.
		for _, by := range append(ages(), step{name: "is put 1 h back for a minute", off: -time.Hour, lasts: time.Minute}) {
			f := fault{
				name: "leadsman's clock " + by.name + ", and right again", pushed: kind.pushed, seenThrough: true,
				lasts: by.lasts,
				begin: func(_ *testing.T, v *victim) { v.server.SetClock(by.off) },
				end:   func(_ *testing.T, v *victim) { v.server.SetClock(0) },
			}
			t.Run(kind.name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				enduresAged(t, befallsOnItsClock(t, kind), f, kind.waits, kind.waits)
			})
		}
	}
}

// What leadsman still knows of a source serves for as long as it may, by no clock that can be set.
func TestClockOfLeadsmanJumpsInAnOutage(t *testing.T) {
	t.Parallel()
	for _, kind := range timedKinds {
		for _, by := range ages() {
			f := fault{
				name: "cut, and leadsman's clock " + by.name + ", until both are right", pushed: kind.pushed, outage: true, keeps: true,
				begin: func(_ *testing.T, v *victim) {
					v.network.breaks()
					v.server.SetClock(by.off)
				},
				end: func(t *testing.T, v *victim) {
					v.network.mended(t)
					v.server.SetClock(0)
				},
			}
			t.Run(kind.name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				enduresAged(t, befallsOnItsClock(t, kind), f, kind.waits, kind.waits)
			})
		}
	}
}

// befallsOnItsClock starts leadsman with a clock of its own.
func befallsOnItsClock(t *testing.T, kind timedKind) *victim {
	t.Helper()
	s, server := kind.start(t), rig.NewServer(t)
	server.OwnClock()
	return befallsOn(t, server, kind.name, s, newNetwork(t, kind.address(s)))
}

// enduresAged is endures, while the age of the backlog's oldest job is told as well. That goes by the server's clock, and by
// no other.
func enduresAged(t *testing.T, v *victim, f fault, atLeast, atMost time.Duration) {
	t.Helper()
	trigger := rig.Trigger{Object: "aged", Index: 2, Metadata: rig.Metadata{"queue": "busy", "metric": "oldest"}}
	ages := newWitness(rig.External(t, v.server, trigger), func(a answer) error {
		const slack = 5 * time.Minute // for as long as the test takes
		switch {
		case a.err != nil:
			return mayFail(a.err)
		case a.value < atLeast.Seconds() || a.value > (atMost+slack).Seconds():
			return fmt.Errorf("the oldest job waits since %v s, which should be %v at least and %v at most", a.value, atLeast, atMost)
		}
		return nil
	})
	begin := f.begin
	f.begin = func(t *testing.T, v *victim) {
		t.Helper()
		ages.watch(t)
		begin(t, v)
	}
	endures(t, v, f)
	ages.end()
}

// A job is due when it is by the clock of the database, which may be put forward past that time, or back before it.
func TestJobComesDueByTheServersClock(t *testing.T) {
	t.Parallel()
	for _, kind := range timedKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			t.Run("forward", func(t *testing.T) {
				t.Parallel()
				s := kind.start(t)
				d := awaitsDue(t, befalls(t, kind.name, s, newNetwork(t, kind.address(s))), 30*time.Minute)
				s.setClock(t, time.Hour)
				d.comesDue(t, time.Now(), "the server's clock is put 1 h forward past a job's due time")
			})
			t.Run("back", func(t *testing.T) {
				t.Parallel()
				s := kind.start(t)
				const in = 5 * time.Second
				d := awaitsDue(t, befalls(t, kind.name, s, newNetwork(t, kind.address(s))), in)
				s.setClock(t, -time.Hour)
				d.staysIdle(t, in+lasts)
				s.setClock(t, 0)
				d.comesDue(t, time.Now(), "the server's clock is put 1 h back before a job's due time, and right again")
			})
		})
	}
}

// It is due then whatever time it is for leadsman.
func TestJobComesDueWhateverLeadsmansClockSays(t *testing.T) {
	t.Parallel()
	for _, kind := range timedKinds {
		for _, by := range ages() {
			t.Run(kind.name+"/"+by.name, func(t *testing.T) {
				t.Parallel()
				const in = 10 * time.Second
				v := befallsOnItsClock(t, kind)
				d := awaitsDue(t, v, in)
				v.server.SetClock(by.off)
				d.comesDue(t, d.due, "leadsman's clock "+by.name+" before a job's due time")
				v.server.SetClock(0)
			})
		}
	}
}

// A delayed is an empty queue with a job for later.
type delayed struct {
	v     *victim
	idle  *rig.PushScaler
	polls *witness
	due   time.Time // by the clock that was right
}

// awaitsDue schedules the job while KEDA listens, and returns when KEDA has been told that there is nothing to do.
func awaitsDue(t *testing.T, v *victim, in time.Duration) *delayed {
	t.Helper()
	d := &delayed{v: v, idle: rig.ExternalPush(t, v.server, rig.Trigger{Object: "idle", Metadata: rig.Metadata{"queue": "idle"}})}
	d.idle.Opens()
	d.idle.Becomes(0)
	d.due = time.Now().Add(in)
	v.store.(timed).schedule("idle", in)
	d.polls = newWitness(&d.idle.Scaler, func(a answer) error {
		if a.err != nil || a.value != 0 && a.value != 1 {
			return fmt.Errorf("value %v, error %w, of a queue with one job, and nothing is broken", a.value, a.err)
		}
		return nil
	})
	d.polls.watch(t)
	rig.Eventually(t, grace, "KEDA is told that the job is not due", func() bool { return len(d.polls.since(d.due.Add(-in))) >= 3 })
	return d
}

// staysIdle makes sure that for a while KEDA is told of no work.
func (d *delayed) staysIdle(t *testing.T, lasts time.Duration) {
	t.Helper()
	began := time.Now()
	select {
	case <-d.idle.Wakes:
		t.Error("the worker was woken for a job that is not due by the server's clock")
	case <-time.After(lasts):
	}
	for _, a := range d.polls.since(began) {
		if a.value != 0 {
			t.Fatal("KEDA was told of a job that is not due by the server's clock")
		}
	}
}

// comesDue waits for the wake and the value of the job, which is due since an instant, and tells how long they took.
func (d *delayed) comesDue(t *testing.T, due time.Time, fault string) {
	t.Helper()
	const early = time.Second // Asynq dates a job in whole seconds
	woken := d.idle.Woken(time.Until(due) + grace).Sub(due)
	d.idle.Becomes(1)
	d.polls.end()
	var value time.Duration
	for _, a := range d.polls.since(d.due.Add(-24 * time.Hour)) {
		if a.value == 1 {
			value = a.told.Sub(due)
			break
		}
	}
	r := row{source: d.v.kind, fault: fault, told: "nothing to do, until the job was due", value: max(0, value), woken: max(0, woken)}
	t.Log(r)
	told.add(r)
	if min(woken, value) < -early {
		t.Errorf("the worker was woken %v after the job was due, and its value told %v after that", woken, value)
	}
	if woken > *within {
		t.Errorf("the worker was woken %v after the job was due", woken)
	}
}
