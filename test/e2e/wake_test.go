package e2e

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// promptly is the deadline for what takes milliseconds on a machine with nothing else to do.
const promptly = 2 * time.Second

// resync is the deadline for what only the poll each 10 s finds.
const resync = 15 * time.Second

func TestFirstJobFromZeroIsPushed(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	p := externalPush(t, serve(t, a.source()), trigger{metadata: metadata{"queue": "mail"}})
	p.opens()
	p.becomes(0)
	p.wokenBy(func() { a.enqueue("mail", 1) }, promptly)
	p.becomes(1)
}

func TestBacklogIsPushedOnOpen(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.enqueue("mail", 3)
	s := serve(t, a.source())
	began := time.Now()
	p := externalPush(t, s, trigger{metadata: metadata{"queue": "mail"}})
	t.Logf("true %v after the push scaler was made", p.woken(promptly).Sub(began))
}

// After a drain KEDA takes the workers away as soon as a poll says that there is nothing to do, so a job that comes
// right after that has to be pushed again.
func TestJobAfterADrainIsPushedAgain(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.enqueue("mail", 25)
	p := externalPush(t, serve(t, a.source()), trigger{metadata: metadata{"queue": "mail"}})
	p.woken(promptly)
	p.becomes(25)
	for range 2 {
		a.work("mail")
		p.becomes(0)
		p.forget()
		p.wokenBy(func() { a.enqueue("mail", 1) }, 5*time.Second)
	}
}

// With no worker there is nobody to promote a scheduled job: leadsman does not wait for that.
func TestScheduledJobIsPushedWhenItIsDue(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	p := externalPush(t, serve(t, a.source()), trigger{metadata: metadata{"queue": "mail"}})
	p.opens()
	const in = 3 * time.Second
	began := time.Now()
	a.schedule("mail", in)
	p.becomes(0)
	if took := p.woken(in + promptly).Sub(began); took < in {
		t.Errorf("true came %v before the job was due", in-took)
	} else {
		t.Logf("true %v after the job was due", took-in)
	}
	p.becomes(1)
}

func TestMetricSpecIsStreamedOnOpen(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	p := externalPush(t, serve(t, a.source()), trigger{index: 2, metadata: metadata{"queue": "mail", "target": "0.5"}})
	streamed, asked := p.opens(), p.GetMetricSpecForScaling(p.context())
	if diff := cmp.Diff(asked, streamed); diff != "" || len(streamed) != 1 {
		t.Errorf("the streamed spec is not the one that is answered (-answered +streamed):\n%s", diff)
	}
}
