package main

import (
	"fmt"
	"slices"
	"time"
)

// measureLoad is each of KEDA's calls by itself, and all three together from ever more callers. It is a closed loop: a
// caller asks again as soon as it has its answer, so that the server is always as busy as so many callers can make it.
func measureLoad(b *bed) []row {
	url := b.cluster().Database(b)
	fillQueues(b, url, callQueues)
	ours, limit := b.leadsman(url, nil), b.bare()
	all := func(c *callee) asking { return c.all }
	return slices.Concat(
		closedRows(b, "GetMetrics", ours, limit, callers, func(c *callee) asking { return c.metrics }),
		closedRows(b, "IsActive", ours, limit, callers, func(c *callee) asking { return c.active }),
		closedRows(b, "GetMetricSpec", ours, limit, callers, func(c *callee) asking { return c.spec }),
		closedRows(b, "all three", ours, limit, 1, all),
		closedRows(b, "all three", ours, limit, 16, all),
		closedRows(b, "all three", ours, limit, 256, all),
	)
}

// closedRows load both servers in turns with so many callers.
func closedRows(b *bed, name string, ours, limit *process, atOnce int, call func(*callee) asking) []row {
	us, them := newCallee(b, ours, callObjects), newCallee(b, limit, callObjects)
	for range pick(b, 5, 1) {
		for _, c := range []*callee{us, them} {
			c.run(b, atOnce, pick(b, time.Second, 200*time.Millisecond), call(c))
		}
	}
	noun := "callers"
	if atOnce == 1 {
		noun = "caller"
	}
	what := fmt.Sprintf("%s, %d %s: ", name, atOnce, noun)
	rate := row{what + "calls", perSecond(median(us.rates)), perSecond(median(them.rates)), againstConstant, ratioAtLeast(0.9)}
	return append([]row{rate}, latencyRows(what, &us.loaded, &them.loaded, againstConstant)...)
}
