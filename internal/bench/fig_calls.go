package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	callObjects = 1000 // ScaledObjects that are asked for
	callers     = 64   // at once, on one connection
)

// measureCalls is how many GetMetrics and IsActive calls a server answers, as KEDA's pairs from many callers at once.
// The client shares the machine with the server and takes most of it, so the processor time that the server itself
// spends on a call stands beside the throughput.
func measureCalls(b *bed) []row {
	url := b.cluster().Database(b)
	fillQueues(b, url, 100)
	ours := newCallee(b, b.leadsman(url, nil))
	limit := newCallee(b, b.bare())
	for range pick(b, 6, 2) {
		for _, c := range []*callee{ours, limit} {
			c.run(b, pick(b, 1500*time.Millisecond, 500*time.Millisecond))
		}
	}
	const against = "bare grpc-go server with constant answers"
	what := fmt.Sprintf("GetMetrics + IsActive, %d callers: ", callers)
	return []row{
		{what + "calls", perSecond(median(ours.rates)), perSecond(median(limit.rates)), against, ratioAtLeast(0.9)},
		{what + "p99", took(median(ours.p99s)), took(median(limit.p99s)), against, target{}},
		{"the server's processor time per call", took(median(ours.costs)), took(median(limit.costs)), against, target{}},
	}
}

// A callee is one server that is called.
type callee struct {
	server   *process
	client   client
	triggers []trigger
	rates    []float64 // calls per second, by run
	p99s     []time.Duration
	costs    []time.Duration
}

func newCallee(b *bed, server *process) *callee {
	c := &callee{server: server, client: b.dial(server)}
	var err error
	c.triggers, err = c.client.discover(b.ctx, c.client.objects(callObjects, over(100)))
	b.must(err)
	b.must(c.client.pollAll(b.ctx, c.triggers, callers)) // to warm up
	return c
}

// run calls for a while and notes how it went.
func (c *callee) run(b *bed, lasts time.Duration) {
	latencies := make([][]time.Duration, callers)
	var next atomic.Int64
	ctx, cancel := context.WithTimeout(b.ctx, lasts)
	defer cancel()
	group, _ := errgroup.WithContext(ctx)
	used, start := b.cpu(c.server), time.Now()
	for i := range callers {
		group.Go(func() error {
			for ctx.Err() == nil {
				t := c.triggers[int(next.Add(1))%len(c.triggers)]
				asked := time.Now()
				if _, err := c.client.GetMetrics(b.ctx, t.get); err != nil {
					return err
				}
				between := time.Now()
				if _, err := c.client.IsActive(b.ctx, t.ref); err != nil {
					return err
				}
				latencies[i] = append(latencies[i], between.Sub(asked), time.Since(between))
			}
			return nil
		})
	}
	b.must(group.Wait())
	elapsed, used := time.Since(start), b.cpu(c.server)-used
	var all []time.Duration
	for _, some := range latencies {
		all = append(all, some...)
	}
	c.rates = append(c.rates, float64(len(all))/elapsed.Seconds())
	c.p99s = append(c.p99s, percentile(all, 0.99))
	c.costs = append(c.costs, used/time.Duration(len(all)))
}
