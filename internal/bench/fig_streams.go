package main

import (
	"fmt"
	"sync/atomic"
	"time"
)

// measureStreams is what an open StreamIsActive costs, and how long it takes until one job has woken all of them:
// from the call of Insert, whose return the many clients in this process can keep waiting, until the last of them has
// received its true. As with KEDA, all streams are on one connection.
func measureStreams(b *bed) []row {
	n := pick(b, 10_000, 1000)
	ours := newFlock(b, n, func(url string) *process { return b.leadsman(url, nil) })
	limit := newFlock(b, n, func(url string) *process { return b.bare("-postgres", url) })
	inTurns(pick(b, 20, 2), ours, limit, func(f *flock) { f.wake(b) })
	streams := fmt.Sprintf("%d open streams: ", n)
	return []row{
		{streams + "memory of each", kibibytes(ours.each), kibibytes(limit.each), "bare grpc-go streams", ratioAtMost(1.3)},
		{
			streams + "insert and commit → the last true", took(inTurn(ours.wakes, limit.wakes)), took(median(limit.wakes)),
			"bare LISTEN + broadcast", ratioAtMost(1.5),
		},
		{
			streams + "the server's processor time to wake them", took(mean(ours.costs)), took(mean(limit.costs)),
			"bare LISTEN + broadcast",
			target{},
		},
	}
}

// A flock is n streams to one server, all for one queue.
type flock struct {
	n      int
	server *process
	queue  *riverPostgres
	each   float64         // bytes of the server's memory per stream
	wakes  []time.Duration // from the insert to the last true, by round
	costs  []time.Duration // the server's processor time meanwhile

	heard atomic.Int64 // trues in this round
	last  chan time.Time
	ready time.Time
}

func newFlock(b *bed, n int, start func(url string) *process) *flock {
	url := b.cluster().Database(b)
	f := &flock{n: n, queue: newRiverPostgres(b, url), last: make(chan time.Time, 1)}
	server := start(url)
	f.server = server
	c := b.dial(server)
	triggers, err := c.discover(b.ctx, c.objects(n, func(int) string { return wakeQueue }))
	b.must(err)
	// KEDA polls while its streams are open. The polls before let the server grow to its working size, and those
	// after let its garbage collector, which begins to work when the memory in use has doubled, come round.
	b.must(c.pollAll(b.ctx, triggers, callers))
	before := b.settledRSS(server)
	for _, t := range triggers {
		b.must(c.listen(b.ctx, t.ref, f.hear))
	}
	for range 3 {
		b.must(c.pollAll(b.ctx, triggers, callers))
	}
	f.each = (b.settledRSS(server) - before) / float64(n)
	f.ready = time.Now()
	return f
}

// hear takes one stream's true.
func (f *flock) hear(at time.Time) {
	if f.heard.Add(1) == int64(f.n) {
		f.last <- at
	}
}

// wake inserts a job, waits for all trues and deletes it.
func (f *flock) wake(b *bed) {
	time.Sleep(time.Until(f.ready))
	f.heard.Store(0)
	used, called := b.cpu(f.server), time.Now()
	b.must(f.queue.insert(b.ctx))
	select {
	case at := <-f.last:
		f.wakes, f.costs = append(f.wakes, at.Sub(called)), append(f.costs, b.cpu(f.server)-used)
	case <-b.ctx.Done():
		b.must(b.ctx.Err())
	case <-time.After(startTimeout):
		b.Fatalf("%d of %d streams were woken", f.heard.Load(), f.n)
	}
	b.must(f.queue.clear(b.ctx))
	// leadsman's streams look again within the second after the job's echo, and wait for work from then on.
	f.ready = time.Now().Add(2500 * time.Millisecond)
}

// settledRSS waits until the server's memory hardly changes, and returns it.
func (b *bed) settledRSS(p *process) float64 {
	const steps = 4 // of a quarter of a second
	last, still := b.rss(p), 0
	for range 40 {
		time.Sleep(250 * time.Millisecond)
		now := b.rss(p)
		still++
		if now > last*1.005 || now < last*0.995 {
			still = 0
		}
		last = now
		if still == steps {
			break
		}
	}
	return last
}
