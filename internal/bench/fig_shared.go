package main

import (
	"context"
	"fmt"
	"time"
)

// sharedRate is how many polls per second there are beside the streams: what 10,000 objects at KEDA's 30 s make.
const sharedRate = pollRate

// measureShared is the latency of polls on a connection that push streams are open on as well, as KEDA has it: one
// connection for all ScaledObjects. Nothing happens on the streams; that they are there must cost the polls nothing.
func measureShared(b *bed) []row {
	url := b.cluster().Database(b)
	fillQueues(b, url, callQueues)
	counts := pick(b, []int{0, 1000, 10_000}, []int{0, 1000})
	ours, limit := newSharer(b, b.leadsman(url, nil), counts), newSharer(b, b.bare(), counts)
	for i, n := range counts {
		for _, s := range []*sharer{ours, limit} {
			s.open(b, n)
		}
		for range pick(b, 4, 1) {
			for _, s := range []*sharer{ours, limit} {
				s.poll(b, i)
			}
		}
	}
	var rows []row
	for i, n := range counts {
		what := fmt.Sprintf("unary call beside %d streams on one connection: ", n)
		rows = append(rows, latencyRows(what, &ours.beside[i], &limit.beside[i], "bare grpc-go server with as many streams")...)
	}
	last := len(counts) - 1
	flat := latencyRows(fmt.Sprintf("unary call beside %d streams on one connection: ", counts[last]),
		&ours.beside[last], &ours.beside[0], "leadsman's own beside none")
	for i := range flat {
		flat[i].target = ratioAtMost(1.5)
	}
	return append(rows, flat...)
}

// A sharer is one server, and a connection for polls and streams.
type sharer struct {
	*callee

	streams int
	beside  []loaded // by number of streams
}

func newSharer(b *bed, server *process, counts []int) *sharer {
	return &sharer{callee: newCallee(b, server, max(counts[len(counts)-1], callObjects)), beside: make([]loaded, len(counts))}
}

// open opens streams until there are n, on a queue that stays empty.
func (s *sharer) open(b *bed, n int) {
	for ; s.streams < n; s.streams++ {
		b.must(s.client.listen(b.ctx, s.client.object(s.streams, wakeQueue), func(time.Time) {}))
	}
	b.must(s.client.pollAll(b.ctx, s.triggers, callers)) // the collector comes round
}

// poll polls at an even rate. A run is longer than the interval at which leadsman's streams look without a signal.
func (s *sharer) poll(b *bed, i int) {
	used, start := b.cpu(s.server), time.Now()
	polls, failed, err := steadyLoop(b.ctx, sharedRate, pick(b, 11*time.Second, time.Second), func(i int) error {
		return s.all(context.WithoutCancel(b.ctx), s.triggers[i%len(s.triggers)])
	})
	b.must(err)
	if failed > 0 {
		b.Fatalf("%d of %d polls failed", failed, polls)
	}
	s.beside[i].note(&s.watch, time.Since(start), b.cpu(s.server)-used)
}
