package e2e

import (
	"testing"
	"time"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// The first steps of a new user, without any configuration: serve, enqueue, work.
func TestEmbeddedQueueIsPushedFromZeroAndAgainAfterADrain(t *testing.T) {
	t.Parallel()
	s := rig.Serve(t, "")
	p := rig.ExternalPush(t, s, rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}})
	p.Opens()
	p.Becomes(0)
	for range 2 {
		p.WokenBy(func() { rig.Run(t, s.Dir, "enqueue", "mail", "--count", "3") }, 5*time.Second)
		p.Becomes(3)
		drain(t, p, s.Dir, "work", "mail", "--concurrency", "3", "--for", "1ms")
		p.Forget()
	}
}

func TestEmbeddedQueueOnOpenAndWhenDue(t *testing.T) {
	t.Parallel()
	s := rig.Serve(t, "")
	rig.Run(t, s.Dir, "enqueue", "mail")
	rig.ExternalPush(t, s, rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}}).Woken(rig.Promptly)

	later := rig.ExternalPush(t, s, rig.Trigger{Index: 1, Metadata: rig.Metadata{"queue": "later"}})
	later.Opens()
	const in = 3 * time.Second
	began := time.Now()
	rig.Run(t, s.Dir, "enqueue", "later", "--in", in.String())
	if took := later.Woken(in + 5*time.Second).Sub(began); took < in {
		t.Errorf("true came %v before the job was due", in-took)
	}
	later.Becomes(1)
}

func TestEnqueueAndWorkOnPostgreSQL(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	s := rig.Serve(t, a.Source())
	p := rig.ExternalPush(t, s, rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}})
	p.Opens()
	p.Becomes(0)
	p.WokenBy(func() { rig.Run(t, s.Dir, "enqueue", "mail", "--count", "7", "--url", a.URL) }, 5*time.Second)
	p.Becomes(7)
	drain(t, p, s.Dir, "work", "mail", "--concurrency", "7", "--for", "1ms", "--url", a.URL)
}

// drain runs `leadsman work` until there is nothing left to do.
func drain(t *testing.T, p *rig.PushScaler, dir string, args ...string) {
	t.Helper()
	worker := rig.Start(t, rig.Leadsman(t, dir, args...))
	p.Becomes(0)
	worker.Terminate()
}
