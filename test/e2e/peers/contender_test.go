package peers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"time"

	"github.com/leadsman/leadsman/test/e2e/peers/report"
)

// A contender is one way from a job to a worker, with a queue of its own.
type contender struct {
	report.Way

	queue   string
	every   time.Duration // up to so much time is let pass before a job, so that it meets each phase of a poll alike
	jobs    jobs
	forgets func(context.Context) error // waits until the trigger knows that the queue is empty; nil if it knows nothing
	clock   clock
}

// jobs are where a contender's jobs come from.
type jobs interface {
	// EnqueueOnce adds a job and returns when that is committed.
	EnqueueOnce(ctx context.Context, queue, id string) error
	// Discard deletes all jobs of a queue.
	Discard(queue string)
}

// A clock stops where a way ends.
type clock interface {
	// reset makes everything there as if there had been no job yet.
	reset(context.Context) error
	// woken waits for what a job leads to and returns when it came.
	woken(context.Context) (time.Time, error)
}

// quiet is how long everybody is left alone before a job: KEDA writes down what it did for the one before. It is longer than
// the 100 ms in which River's client announces a queue once.
const quiet = 200 * time.Millisecond

// round enqueues one job into an empty queue, for a worker without replicas, and notes how long it is from that call until the
// worker is to have one.
func (c *contender) round(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 3*c.every+time.Minute, errors.New("the round takes too long"))
	defer cancel()
	took, err := c.time(ctx)
	if err != nil {
		return fmt.Errorf("%s, after %d rounds: %w", c.Name, len(c.Took), err)
	}
	c.Took = append(c.Took, took)
	c.jobs.Discard(c.queue)
	return nil
}

func (c *contender) time(ctx context.Context) (time.Duration, error) {
	if c.forgets != nil {
		if err := c.forgets(ctx); err != nil {
			return 0, err
		}
	}
	if err := c.clock.reset(ctx); err != nil {
		return 0, err
	}
	if err := pause(ctx, quiet+mathrand.N(c.every)); err != nil {
		return 0, err
	}
	began := time.Now()
	if err := c.jobs.EnqueueOnce(ctx, c.queue, rand.Text()); err != nil {
		return 0, err
	}
	at, err := c.clock.woken(ctx)
	if err == nil && at.Before(began) {
		err = errors.New("woken without a job")
	}
	return at.Sub(began), err
}
