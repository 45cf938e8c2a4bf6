package main

import (
	"fmt"
	"time"
)

// measureCrowd is 50,000 ScaledObjects that are polled as KEDA polls them: each three calls every 30 s, all on one
// connection, over 500 queues. No two have the same metadata.
func measureCrowd(b *bed) []row {
	n, queues := pick(b, 50_000, 2000), pick(b, 500, 100)
	url := b.cluster().Database(b)
	fillQueues(b, url, queues)
	b.exec(b.cluster().SuperuserURL(), "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
	ours, limit := newCrowd(b, b.leadsman(url, nil), n, queues), newCrowd(b, b.bare(), n, queues)
	for _, c := range []*crowd{ours, limit} {
		c.first(b)
	}
	rate := float64(n) / idleInterval.Seconds()
	window := pick(b, 15*time.Second, 2*time.Second)
	var statements float64
	for range pick(b, 3, 1) {
		before, start := b.statements(url), time.Now()
		ours.poll(b, rate, window)
		statements += (b.statements(url) - before) / time.Since(start).Seconds() / float64(pick(b, 3, 1))
		limit.poll(b, rate, window)
	}
	alone := newCrowd(b, b.leadsman(url, nil), 1, 1)
	before, start := b.statements(url), time.Now()
	alone.poll(b, rate, window)
	one := (b.statements(url) - before) / time.Since(start).Seconds()

	what := fmt.Sprintf("%d ScaledObjects over %d queues, ", n, queues)
	rows := []row{
		{what + "first poll of all", took(ours.cold), took(limit.cold), againstConstant, target{}},
		{what + "first poll of all, p99 of a call", took(ours.coldP99), took(limit.coldP99), againstConstant, target{}},
		{what + "each 30 s: calls", perSecond(median(ours.rates)), perSecond(median(limit.rates)), againstConstant, ratioAtLeast(0.98)},
	}
	rows = append(rows, latencyRows(what+"each 30 s: ", &ours.loaded, &limit.loaded, againstConstant)...)
	return append(rows,
		row{what + "each 30 s: share of a core", percent(median(ours.shares)), percent(median(limit.shares)), againstConstant, target{}},
		row{what + "memory", mebibytes(b.rss(ours.server)), mebibytes(b.rss(limit.server)), againstConstant, target{}},
		row{what + "statements on the database", perSecond(statements), perSecond(one), "1 ScaledObject, as many polls", ratioAtMost(1.1)},
	)
}

// A crowd is one server and very many objects.
type crowd struct {
	callee

	cold    time.Duration // of the first poll of all
	coldP99 time.Duration // of its calls
	shares  []float64     // of a core
}

// newCrowd makes the objects. Nothing is asked of the server yet.
func newCrowd(b *bed, server *process, n, queues int) *crowd {
	c := &crowd{callee: callee{server: server, client: b.dial(server)}}
	for i := range n {
		ref := c.client.object(i, over(queues)(i))
		ref.ScalerMetadata["name"] = fmt.Sprintf("worker-%05d", i) // the metric's name, known without discovery
		c.triggers = append(c.triggers, trigger{ref, metricOf(ref, ref.GetScalerMetadata()["name"])})
	}
	return c
}

// first polls all objects of whom the server has never heard, as when KEDA's operator starts.
func (c *crowd) first(b *bed) {
	start := time.Now()
	b.must(forEach(c.triggers, callers, func(t trigger) error { return c.all(b.ctx, t) }))
	c.cold, c.coldP99 = time.Since(start), percentile(c.watch.took, 0.99)
	c.watch.took = nil
}

// poll polls the objects in turn at an even rate and notes how it went.
func (c *crowd) poll(b *bed, rate float64, lasts time.Duration) {
	used, start := b.cpu(c.server), time.Now()
	polls, failed, err := steadyLoop(b.ctx, rate, lasts, func(i int) error { return c.all(b.ctx, c.triggers[i%len(c.triggers)]) })
	b.must(err)
	if failed > 0 {
		b.Fatalf("%d of %d polls failed", failed, polls)
	}
	lasted, took := time.Since(start), b.cpu(c.server)-used
	c.shares = append(c.shares, took.Seconds()/lasted.Seconds())
	c.note(&c.watch, lasted, took)
}
