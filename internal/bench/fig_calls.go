package main

import (
	"context"
	"fmt"
	"time"
)

const (
	callObjects = 1000 // ScaledObjects that are asked for
	callQueues  = 100  // that they have between them
	callers     = 64   // at once, on one connection
)

const againstConstant = "bare grpc-go server with constant answers"

// measureCalls is how many GetMetrics and IsActive calls a server answers, as KEDA's pairs from many callers at once.
// The client shares the machine with the server and takes most of it, so the processor time that the server itself
// spends on a call stands beside the throughput.
func measureCalls(b *bed) []row {
	url := b.cluster().Database(b)
	fillQueues(b, url, callQueues)
	ours := newCallee(b, b.leadsman(url, nil), callObjects)
	limit := newCallee(b, b.bare(), callObjects)
	runInTurns(b, 12, 750*time.Millisecond, ours, limit, callers, (*callee).pair)
	what := fmt.Sprintf("GetMetrics + IsActive, %d callers: ", callers)
	return []row{
		{what + "calls", perSecond(inTurn(ours.rates, limit.rates)), perSecond(median(limit.rates)), againstConstant, ratioAtLeast(0.9)},
		{what + "p99", took(inTurn(ours.p99s, limit.p99s)), took(median(limit.p99s)), againstConstant, target{}},
		{
			"the server's processor time per call", took(inTurn(ours.costs, limit.costs)), took(median(limit.costs)),
			againstConstant,
			target{},
		},
	}
}

// A callee is one server that is called.
type callee struct {
	loaded

	server   *process
	client   client
	triggers []trigger
	watch    stopwatch
}

// newCallee discovers and polls n objects, to warm up.
func newCallee(b *bed, server *process, n int) *callee {
	c := &callee{server: server, client: b.dial(server)}
	var err error
	c.triggers, err = c.client.discover(b.ctx, c.client.objects(n, over(callQueues)))
	b.must(err)
	b.must(c.client.pollAll(b.ctx, c.triggers, callers))
	return c
}

// An asking asks a server one or more things about a trigger.
type asking func(c *callee, ctx context.Context, t trigger) error

// runInTurns loads two servers one after the other.
func runInTurns(b *bed, rounds int, lasts time.Duration, ours, limit *callee, atOnce int, ask asking) {
	inTurns(pick(b, rounds, 2), ours, limit, func(c *callee) { c.run(b, atOnce, pick(b, lasts, 200*time.Millisecond), ask) })
}

// run has callers ask for a while and notes how it went.
func (c *callee) run(b *bed, atOnce int, lasts time.Duration, ask asking) {
	used := b.cpu(c.server)
	lasted, err := closedLoop(b.ctx, atOnce, lasts, func(i int) error { return ask(c, b.ctx, c.triggers[i%len(c.triggers)]) })
	b.must(err)
	c.note(&c.watch, lasted, b.cpu(c.server)-used)
}

// metrics, active and spec each time one call.
func (c *callee) metrics(ctx context.Context, t trigger) error {
	return c.watch.of(func() error {
		_, err := c.client.GetMetrics(ctx, t.get)
		return err
	})
}

func (c *callee) active(ctx context.Context, t trigger) error {
	return c.watch.of(func() error {
		_, err := c.client.IsActive(ctx, t.ref)
		return err
	})
}

func (c *callee) spec(ctx context.Context, t trigger) error {
	return c.watch.of(func() error {
		_, err := c.client.GetMetricSpec(ctx, t.ref)
		return err
	})
}

// pair is what KEDA asks for each HPA.
func (c *callee) pair(ctx context.Context, t trigger) error {
	if err := c.metrics(ctx, t); err != nil {
		return err
	}
	return c.active(ctx, t)
}

// all is what KEDA asks at each pollingInterval.
func (c *callee) all(ctx context.Context, t trigger) error {
	if err := c.active(ctx, t); err != nil {
		return err
	}
	if err := c.spec(ctx, t); err != nil {
		return err
	}
	return c.metrics(ctx, t)
}
