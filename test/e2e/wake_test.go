package e2e

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

func TestFirstJobFromZeroIsPushed(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	p := rig.ExternalPush(t, rig.Serve(t, a.Source()), rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}})
	p.Opens()
	p.Becomes(0)
	p.WokenBy(func() { a.Enqueue("mail", 1) }, rig.Promptly)
	p.Becomes(1)
}

func TestBacklogIsPushedOnOpen(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	a.Enqueue("mail", 3)
	s := rig.Serve(t, a.Source())
	began := time.Now()
	p := rig.ExternalPush(t, s, rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}})
	t.Logf("true %v after the push scaler was made", p.Woken(rig.Promptly).Sub(began))
}

// After a drain KEDA takes the workers away as soon as a poll says that there is nothing to do, so a job that comes
// right after that has to be pushed again.
func TestJobAfterADrainIsPushedAgain(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	a.Enqueue("mail", 25)
	p := rig.ExternalPush(t, rig.Serve(t, a.Source()), rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}})
	p.Woken(rig.Promptly)
	p.Becomes(25)
	for range 2 {
		a.Work("mail")
		p.Becomes(0)
		p.Forget()
		p.WokenBy(func() { a.Enqueue("mail", 1) }, 5*time.Second)
	}
}

// With no worker there is nobody to promote a scheduled job: leadsman does not wait for that.
func TestScheduledJobIsPushedWhenItIsDue(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	p := rig.ExternalPush(t, rig.Serve(t, a.Source()), rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}})
	p.Opens()
	const in = 3 * time.Second
	began := time.Now()
	a.Schedule("mail", in)
	p.Becomes(0)
	if took := p.Woken(in + rig.Promptly).Sub(began); took < in {
		t.Errorf("true came %v before the job was due", in-took)
	} else {
		t.Logf("true %v after the job was due", took-in)
	}
	p.Becomes(1)
}

func TestMetricSpecIsStreamedOnOpen(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	p := rig.ExternalPush(t, rig.Serve(t, a.Source()), rig.Trigger{Index: 2, Metadata: rig.Metadata{"queue": "mail", "target": "0.5"}})
	streamed, asked := p.Opens(), p.GetMetricSpecForScaling(p.Context())
	if diff := cmp.Diff(asked, streamed); diff != "" || len(streamed) != 1 {
		t.Errorf("the streamed spec is not the one that is answered (-answered +streamed):\n%s", diff)
	}
}
