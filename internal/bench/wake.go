package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// A contender is one server whose wakes are measured, with a producer's database of its own.
type contender struct {
	// listen calls heard at each true until ctx is done. It returns when no job can be missed any more.
	listen func(ctx context.Context, heard func(time.Time)) error
	queue  producer
	jitter time.Duration // up to so much is added to the quiet, lest the rounds keep step with a server's timer

	trues       chan time.Time // when each true came
	opened      time.Time      // the stream
	end         context.CancelFunc
	sinceCall   []time.Duration
	sinceCommit []time.Duration
}

// A producer is where a contender's jobs come from.
type producer interface {
	// insert adds a job to the queue "mail" and returns when that is committed.
	insert(ctx context.Context) error
	// clear deletes all jobs.
	clear(ctx context.Context) error
}

// wakeQueue is the queue that is watched.
const wakeQueue = "mail"

// apart is how long a round keeps from the one before, whose contender still has a stream to open and a queue to read,
// and would do so at the expense of the next.
const apart = 10 * time.Millisecond

// race measures the contenders in turns, round by round, each time in another order.
//
// A round is one job into an empty queue after a time of quiet, with one stream open, as for a deployment at zero. Two
// clocks run until the client has received the true: one since Insert was called, and one since it returned, which is
// when the producer knows that the commit is done. The server may know earlier, so the second can even be
// negative. Then the job is deleted and the stream is opened anew, because a stream that has said true hears of
// the end of work with a lag of a second.
func race(b *bed, rounds int, quiet time.Duration, contenders ...*contender) {
	defer func() {
		for _, c := range contenders {
			if c.end != nil {
				c.end()
			}
		}
	}()
	for _, c := range contenders {
		c.sinceCall, c.sinceCommit = nil, nil
		b.must(c.open(b.ctx))
	}
	warmUp := min(10, rounds/2) // prepared statements, caches, the first connections
	for i := range warmUp + rounds {
		for _, next := range rand.Perm(len(contenders)) { // none always runs on what the same one has left in the caches
			if err := contenders[next].round(b.ctx, quiet, i >= warmUp); err != nil {
				b.Fatalf("round %d: %w", i, err)
			}
		}
	}
}

// open opens the stream.
func (c *contender) open(ctx context.Context) error {
	ctx, c.end = context.WithCancel(ctx)
	trues := make(chan time.Time, 100)
	c.trues = trues
	c.opened = time.Now()
	return c.listen(ctx, func(at time.Time) { trues <- at })
}

func (c *contender) round(ctx context.Context, quiet time.Duration, counts bool) error {
	if c.jitter > 0 {
		quiet += rand.N(c.jitter)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.trues:
		return errors.New("a true without a job")
	case <-time.After(max(apart, time.Until(c.opened.Add(quiet)))):
	}
	called := time.Now()
	if err := c.queue.insert(ctx); err != nil {
		return err
	}
	committed := time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(15 * time.Second): // longer than leadsman's resync, which heals what a signal lost
		return errors.New("a job and no true")
	case at := <-c.trues:
		if counts {
			c.sinceCall = append(c.sinceCall, at.Sub(called))
			c.sinceCommit = append(c.sinceCommit, at.Sub(committed))
		}
	}
	if err := c.queue.clear(ctx); err != nil {
		return err
	}
	c.end()
	return c.open(ctx)
}

// wakeRows sets ours beside the limit, by both clocks.
func wakeRows(where string, ours, limit *contender, against string, targets bool) []row {
	p50, p99 := ratioAtMost(2), ratioAtMost(3)
	if !targets {
		p50, p99 = target{}, target{}
	}
	line := func(what string, ours, limit []time.Duration, share float64, t target) row {
		return row{where + what, took(percentile(ours, share)), took(percentile(limit, share)), against, t}
	}
	return []row{
		line("commit → true, p50", ours.sinceCommit, limit.sinceCommit, 0.50, p50),
		line("commit → true, p99", ours.sinceCommit, limit.sinceCommit, 0.99, p99),
		line("insert and commit → true, p50", ours.sinceCall, limit.sinceCall, 0.50, target{}),
		line("insert and commit → true, p99", ours.sinceCall, limit.sinceCall, 0.99, target{}),
	}
}
