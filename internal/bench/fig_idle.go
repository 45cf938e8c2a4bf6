package main

import (
	"context"
	"fmt"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"golang.org/x/sync/errgroup"
)

// idleInterval is KEDA's default pollingInterval.
const idleInterval = 30 * time.Second

// measureIdle is the processor time of a server for which nothing happens: its ScaledObjects are polled, each at
// KEDA's default interval, their streams are open, and no job comes. All servers are measured at once, because
// there is next to nothing to measure.
func measureIdle(b *bed) []row {
	n := pick(b, 1000, 100)
	url := b.cluster().Database(b)
	fillQueues(b, url, n) // something is there; nothing changes
	shared := newSleeper(b, b.leadsman(url, nil), n, min(n, 100))
	own := newSleeper(b, b.leadsman(url, nil), n, n)
	limit := newSleeper(b, b.bare("-postgres", url), n, n)
	sleepers := []*sleeper{shared, own, limit}

	group, ctx := errgroup.WithContext(b.ctx)
	lasts := pick(b, idleInterval, 4*time.Second)
	for _, s := range sleepers {
		group.Go(func() error {
			polls, failed, err := s.client.pollSteadily(ctx, s.triggers, float64(n)/idleInterval.Seconds(), lasts)
			if failed > 0 {
				return fmt.Errorf("%d of %d polls failed", failed, polls)
			}
			return err
		})
	}
	start, before := time.Now(), make([]time.Duration, len(sleepers))
	for i, s := range sleepers {
		before[i] = b.cpu(s.server)
	}
	b.must(group.Wait())
	share := make([]quantity, len(sleepers))
	for i, s := range sleepers {
		share[i] = percent((b.cpu(s.server) - before[i]).Seconds() / time.Since(start).Seconds())
	}
	what := fmt.Sprintf("idle: share of a core, %d ScaledObjects, ", n)
	const against = "bare server with the same clients"
	onePercent := atMost(percent(0.01), "1 %")
	return []row{
		{what + "100 queues", share[0], share[2], against, onePercent},
		{what + "a queue each", share[1], share[2], against, onePercent},
	}
}

// A sleeper is a server and its idle clients.
type sleeper struct {
	server   *process
	client   client
	triggers []trigger
}

// newSleeper opens both streams of each object, as KEDA's push scaler does, and polls once.
func newSleeper(b *bed, server *process, n, queues int) *sleeper {
	s := &sleeper{server: server, client: b.dial(server)}
	refs := s.client.objects(n, over(queues))
	var err error
	s.triggers, err = s.client.discover(b.ctx, refs)
	b.must(err)
	b.must(s.client.pollAll(b.ctx, s.triggers, n))
	for _, ref := range refs {
		b.must(s.client.listen(b.ctx, ref, func(time.Time) {}))
		b.must(s.client.listenSpec(b.ctx, ref))
	}
	return s
}

// listenSpec opens a StreamMetricSpec and reads it until it ends.
func (c client) listenSpec(ctx context.Context, ref *pb.ScaledObjectRef) error {
	stream, err := c.StreamMetricSpec(ctx, ref)
	if err != nil {
		return err
	}
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				return
			}
		}
	}()
	return nil
}
