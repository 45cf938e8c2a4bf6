package faults

import (
	"flag"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

var modelTime = flag.Duration("faults.model", time.Minute, "how long the model test takes, for each store")

func TestRiverInTroubleIsToldAsTheModelHasIt(t *testing.T) {
	t.Parallel()
	cluster := storagetest.StartCluster(t, durable)
	s := newRiverStore(t, cluster.Database(t))
	checkModel(t, &riverWork{s, cluster}, riverKind, cluster.Address())
}

func TestAsynqInTroubleIsToldAsTheModelHasIt(t *testing.T) {
	t.Parallel()
	server := storagetest.StartRedis(t, storagetest.WithConfig("appendonly", "yes"), storagetest.WithConfig("appendfsync", "always"))
	checkModel(t, &asynqWork{newAsynqStore(t, server), server}, asynqKind, server.Addr())
}

// checkModel drives random sequences, each on a queue of its own, until its time is over.
func checkModel(t *testing.T, s workable, kind, address string) {
	t.Helper()
	v := befalls(t, kind, s, newNetwork(t, address))
	over := time.Now().Add(*modelTime)
	var sequences atomic.Int64
	rapid.Check(t, func(rt *rapid.T) {
		if time.Now().After(over) {
			return
		}
		queue := fmt.Sprintf("model-%d", sequences.Add(1))
		trigger := rig.Trigger{Object: queue, Metadata: rig.Metadata{"queue": queue}}
		m := &model{t: t, rt: rt, v: v, store: s, queue: queue, scaler: rig.ExternalPush(t, v.server, trigger)}
		m.name = m.scaler.Name()
		m.note()
		defer m.mend()
		for range rapid.IntRange(5, 15).Draw(rt, "steps") {
			m.step()
		}
		m.mend()
		m.settle()
	})
	t.Logf("%d sequences", sequences.Load())
}

// A model is what is known of one queue, beside the queue itself.
type model struct {
	t      *testing.T
	rt     *rapid.T
	v      *victim
	store  workable
	queue  string
	scaler *rig.PushScaler
	name   string // the metric's

	ready, running int
	due            []time.Time // of scheduled jobs that are not counted as ready yet

	trouble func()    // ends the fault; nil for none
	deaf    bool      // the producer cannot write either
	calm    time.Time // when the last fault, or restart, ended

	told []claim // what the value was, since when
	idle bool    // KEDA was told that there is nothing to do, and nothing has come since
	owed bool    // something has come since, and a true is to follow
}

// A claim is that the queue had a value from an instant on.
type claim struct {
	since time.Time
	value int
}

// step does one thing that is possible now, and looks what KEDA is told.
func (m *model) step() {
	m.promote()
	possible := map[string]func(){"look": func() {}}
	if !m.deaf {
		possible["enqueue"] = m.enqueue
		possible["schedule"] = m.schedule
		if m.ready > 0 {
			possible["claim"] = m.claim
		}
		if m.running > 0 {
			possible["finish"] = m.finish
		}
	}
	possible["restart leadsman"] = m.restart
	if m.trouble == nil {
		maps.Copy(possible, m.faults())
	} else {
		possible["mend"] = m.mend
	}
	var names []string
	for _, name := range order {
		if possible[name] != nil {
			names = append(names, name)
		}
	}
	did := rapid.SampledFrom(names).Draw(m.rt, "step")
	possible[did]()
	m.promote()
	m.note()
	m.look(did)
	if m.owed && m.trouble == nil {
		m.scaler.Woken(*within)
		m.owed = false
	}
}

// order is in which sequences become simpler when rapid makes a failing one shorter; what is often is more probable.
var order = []string{
	"look", "enqueue", "claim", "finish", "schedule", "enqueue", "claim", "finish", "mend", "mend", "mend", "cut", "swallow", "kill",
	"freeze", "restart leadsman",
}

// faults are what can go wrong. Each sets how it ends.
func (m *model) faults() map[string]func() {
	return map[string]func(){
		"cut": func() {
			m.v.network.breaks()
			m.trouble = func() { m.v.network.mended(m.t) }
		},
		"swallow": func() {
			m.v.network.suffers(m.t, "timeout", attributes{"timeout": 0})
			m.trouble = m.v.network.heals
		},
		"kill": func() {
			m.store.Kill(m.t)
			m.deaf, m.trouble = true, func() { m.store.Start(m.t) }
		},
		"freeze": func() {
			freeze(m.t, m.store)
			m.deaf, m.trouble = true, func() { thaw(m.t, m.store) }
		},
	}
}

func (m *model) restart() {
	m.v.server.Stop()
	m.v.server.Start()
	m.calm = time.Now()
}

// mend ends what goes wrong, if anything does.
func (m *model) mend() {
	if m.trouble != nil {
		m.trouble()
		m.trouble, m.deaf, m.calm = nil, false, time.Now()
	}
}

func (m *model) enqueue() {
	m.store.fill(m.queue, 1)
	m.ready++
	m.arrived()
}

func (m *model) schedule() {
	const in = 2 * time.Second
	m.due = append(m.due, time.Now().Add(in).Truncate(time.Second)) // or up to a second later: Asynq's scores are whole seconds
	m.store.schedule(m.queue, in)
}

func (m *model) claim() {
	m.store.claim(m.t, m.queue)
	m.ready--
	m.running++
}

func (m *model) finish() {
	m.store.finish(m.t, m.queue)
	m.running--
	if m.owed && m.ready+m.running == 0 { // nobody could see it
		m.idle, m.owed = true, false
	}
}

// promote counts what has become due for sure. Around that instant both counts are right.
func (m *model) promote() {
	for len(m.due) > 0 && !m.deaf {
		due := m.due[0]
		if time.Now().Before(due) {
			return
		}
		<-time.After(time.Until(due.Add(1500 * time.Millisecond))) // by everybody's clock, rounded up
		m.due = m.due[1:]
		m.ready++
		m.told = append(m.told, claim{due, m.ready + m.running})
		m.arrived()
	}
}

// arrived says that there is work. Where there was none, KEDA is to be told.
func (m *model) arrived() {
	if m.idle {
		m.idle, m.owed = false, true
	}
}

// note remembers the value.
func (m *model) note() {
	if value := m.ready + m.running; len(m.told) == 0 || m.told[len(m.told)-1].value != value {
		m.told = append(m.told, claim{time.Now(), value})
	}
}

// look polls once and holds the answer against the model.
func (m *model) look(did string) {
	asked := time.Now()
	value, active, err := m.scaler.Poll(m.name)
	m.promote()
	switch {
	case err != nil && (m.trouble != nil || time.Since(m.calm) < grace):
		if wrong := mayFail(err); wrong != nil {
			m.rt.Fatalf("after %q: %v", did, wrong)
		}
	case err != nil:
		m.rt.Fatalf("after %q, and nothing is wrong: %v", did, err)
	case !m.wasLately(int(value), asked):
		m.rt.Fatalf("after %q: value %v; it was %v", did, value, m.told)
	case value == 0 && !active && m.ready+m.running == 0 && len(m.due) == 0 && m.trouble == nil && !m.owed:
		m.idle = true
		m.scaler.Forget()
	}
}

// wasLately tells whether a value was right at some time within what a last known value may serve.
func (m *model) wasLately(value int, asked time.Time) bool {
	oldest := asked.Add(-staleAfter - readTimeout)
	for i, c := range m.told {
		ended := i+1 < len(m.told) && m.told[i+1].since.Before(oldest)
		if c.value == value && !ended {
			return true
		}
	}
	return false
}

// settle waits until KEDA is told what is there, as nothing is wrong any more.
func (m *model) settle() {
	for len(m.due) > 0 {
		<-time.After(time.Until(m.due[0]))
		m.promote()
	}
	want := float64(m.ready + m.running)
	rig.Eventually(m.t, grace, "KEDA is told what the model has", func() bool {
		value, active, err := m.scaler.Poll(m.name)
		return err == nil && value == want && active == (want > 0)
	})
	if m.owed {
		m.scaler.Woken(*within)
	}
	m.readsAgain()
}

// readsAgain waits until a queue that nobody has asked about is read, as the next sequence does at once: an older sample
// answers for the others, and after a read that failed leadsman rests for a moment.
func (m *model) readsAgain() {
	fresh := m.queue + "-fresh"
	unknown := rig.External(m.t, m.v.server, rig.Trigger{Object: fresh, Metadata: rig.Metadata{"queue": fresh}})
	name := unknown.Name()
	rig.Eventually(m.t, grace, "leadsman reads again", func() bool {
		_, _, err := unknown.Poll(name)
		return err == nil
	})
}
