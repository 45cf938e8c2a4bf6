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
	return slices.Concat(
		closedRows(b, "GetMetrics", ours, limit, callers, (*callee).metrics),
		closedRows(b, "IsActive", ours, limit, callers, (*callee).active),
		closedRows(b, "GetMetricSpec", ours, limit, callers, (*callee).spec),
		closedRows(b, "all three", ours, limit, 1, (*callee).all),
		closedRows(b, "all three", ours, limit, 16, (*callee).all),
		closedRows(b, "all three", ours, limit, 256, (*callee).all),
	)
}

// closedRows load both servers in turns with so many callers.
func closedRows(b *bed, name string, ours, limit *process, atOnce int, ask asking) []row {
	us, them := newCallee(b, ours, callObjects), newCallee(b, limit, callObjects)
	runInTurns(b, 10, 500*time.Millisecond, us, them, atOnce, ask)
	noun := "callers"
	if atOnce == 1 {
		noun = "caller"
	}
	what := fmt.Sprintf("%s, %d %s: ", name, atOnce, noun)
	return []row{
		{what + "calls", perSecond(inTurn(us.rates, them.rates)), perSecond(median(them.rates)), againstConstant, ratioAtLeast(0.9)},
		{what + "p50", took(inTurn(us.p50s, them.p50s)), took(median(them.p50s)), againstConstant, target{}},
		{what + "p99", took(inTurn(us.p99s, them.p99s)), took(median(them.p99s)), againstConstant, target{}},
	}
}
