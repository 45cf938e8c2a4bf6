package e2e

import (
	"testing"
	"time"
)

// The first steps of a new user, without any configuration: serve, enqueue, work.
func TestEmbeddedQueueIsPushedFromZeroAndAgainAfterADrain(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	p := externalPush(t, s, trigger{metadata: metadata{"queue": "mail"}})
	p.opens()
	p.becomes(0)
	for range 2 {
		p.wokenBy(func() { leadsman(t, s.dir, "enqueue", "mail", "--count", "3") }, 5*time.Second)
		p.becomes(3)
		drain(p, s.dir, "work", "mail", "--concurrency", "3", "--for", "1ms")
		p.forget()
	}
}

func TestEmbeddedQueueOnOpenAndWhenDue(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	leadsman(t, s.dir, "enqueue", "mail")
	externalPush(t, s, trigger{metadata: metadata{"queue": "mail"}}).woken(promptly)

	later := externalPush(t, s, trigger{index: 1, metadata: metadata{"queue": "later"}})
	later.opens()
	const in = 3 * time.Second
	began := time.Now()
	leadsman(t, s.dir, "enqueue", "later", "--in", in.String())
	if took := later.woken(in + 5*time.Second).Sub(began); took < in {
		t.Errorf("true came %v before the job was due", in-took)
	}
	later.becomes(1)
}

func TestEnqueueAndWorkOnPostgreSQL(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	s := serve(t, a.source())
	p := externalPush(t, s, trigger{metadata: metadata{"queue": "mail"}})
	p.opens()
	p.becomes(0)
	p.wokenBy(func() { leadsman(t, s.dir, "enqueue", "mail", "--count", "7", "--url", a.url) }, 5*time.Second)
	p.becomes(7)
	drain(p, s.dir, "work", "mail", "--concurrency", "7", "--for", "1ms", "--url", a.url)
}

// drain runs `leadsman work` until there is nothing left to do.
func drain(p *pushScaler, dir string, args ...string) {
	p.t.Helper()
	worker := start(p.t, dir, args...)
	p.becomes(0)
	worker.terminate()
}
