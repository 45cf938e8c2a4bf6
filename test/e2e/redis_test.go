package e2e

import (
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

func TestFirstJobInRedisIsPushed(t *testing.T) {
	t.Parallel()
	a := rig.NewAsynqApp(t)
	p := rig.ExternalPush(t, rig.Serve(t, a.Source()), rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}})
	p.Opens()
	p.Becomes(0)
	for range 3 {
		p.Forget()
		p.WokenBy(func() { a.Enqueue() }, rig.Promptly)
		p.Becomes(1)
		a.Work(1)
		p.Becomes(0)
	}
}

// With no worker there is nobody to promote a scheduled task.
func TestScheduledJobInRedisIsPushedWhenItIsDue(t *testing.T) {
	t.Parallel()
	a := rig.NewAsynqApp(t)
	p := rig.ExternalPush(t, rig.Serve(t, a.Source()), rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}})
	p.Opens()
	const in = 3 * time.Second
	began := time.Now()
	a.Enqueue(asynq.ProcessIn(in))
	p.Becomes(0)
	// Asynq's scores are whole seconds.
	if took := p.Woken(in + rig.Promptly).Sub(began); took < in-time.Second {
		t.Errorf("true came %v before the task was due", in-took)
	}
	p.Becomes(1)
}

func TestRestartOfRedisIsNeverAZero(t *testing.T) {
	t.Parallel()
	a := rig.NewAsynqApp(t)
	a.Enqueue()
	a.Enqueue()
	p := rig.ExternalPush(t, rig.Serve(t, a.Source()), rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}})
	p.Woken(rig.Promptly)
	p.Becomes(2)
	a.Server.Kill(t)
	for deadline := time.Now().Add(3 * time.Second); time.Now().Before(deadline); {
		if value, active, err := p.Poll(p.Name()); err == nil && (value != 2 || !active) {
			t.Fatalf("value = %v, active = %v while Redis is gone", value, active)
		}
	}
	a.Server.Start(t)
	p.Becomes(2)
	a.Work(2)
	p.Becomes(0)
	p.Forget()
	p.WokenBy(func() { a.Enqueue() }, rig.Promptly)
}
