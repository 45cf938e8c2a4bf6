package main

import (
	"context"
	"fmt"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A client asks a server as KEDA does: one connection for everything.
type client struct {
	pb.ExternalScalerClient

	addr string
}

// dial connects to a server until the bed is cleaned.
func (b *bed) dial(p *process) client {
	conn, err := grpc.NewClient(p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	b.must(err)
	b.Cleanup(func() { _ = conn.Close() }) // the figure has been taken
	return client{pb.NewExternalScalerClient(conn), p.addr}
}

// object is one ScaledObject's trigger as KEDA sends it.
func (c client) object(i int, queue string) *pb.ScaledObjectRef {
	return &pb.ScaledObjectRef{
		Name: fmt.Sprintf("worker-%05d", i), Namespace: "default",
		ScalerMetadata: map[string]string{"scalerAddress": c.addr, "queue": queue, "target": "10"},
	}
}

// objects are n ScaledObjects, with the i-th's queue.
func (c client) objects(n int, queue func(i int) string) []*pb.ScaledObjectRef {
	refs := make([]*pb.ScaledObjectRef, n)
	for i := range refs {
		refs[i] = c.object(i, queue(i))
	}
	return refs
}

// over spreads objects over a number of queues, those of fillQueues.
func over(queues int) func(i int) string {
	return func(i int) string { return fmt.Sprintf("mail-%05d", i%queues) }
}

// A trigger is a ScaledObject with the metric that KEDA has discovered for it.
type trigger struct {
	ref *pb.ScaledObjectRef
	get *pb.GetMetricsRequest
}

// discover asks for the metrics of ScaledObjects.
func (c client) discover(ctx context.Context, refs []*pb.ScaledObjectRef) ([]trigger, error) {
	triggers := make([]trigger, len(refs))
	for i, ref := range refs {
		spec, err := c.GetMetricSpec(ctx, ref)
		if err != nil {
			return nil, err
		}
		triggers[i] = trigger{ref, metricOf(ref, spec.GetMetricSpecs()[0].GetMetricName())}
	}
	return triggers, nil
}

// metricOf asks for a metric of a ScaledObject.
func metricOf(ref *pb.ScaledObjectRef, name string) *pb.GetMetricsRequest {
	return &pb.GetMetricsRequest{ScaledObjectRef: ref, MetricName: name}
}

// poll asks once, as KEDA does at each pollingInterval.
func (c client) poll(ctx context.Context, t trigger) error {
	if _, err := c.GetMetrics(ctx, t.get); err != nil {
		return err
	}
	_, err := c.IsActive(ctx, t.ref)
	return err
}

// pollAll polls each trigger once, so many at a time.
func (c client) pollAll(ctx context.Context, triggers []trigger, atOnce int) error {
	return forEach(triggers, atOnce, func(t trigger) error { return c.poll(ctx, t) })
}

// forEach calls f for each trigger, so many at a time, and goes on after an error.
func forEach(triggers []trigger, atOnce int, f func(trigger) error) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, t := range triggers {
		group.Go(func() error { return f(t) })
	}
	return group.Wait()
}

// pollSteadily polls the triggers in turn, at an even rate per second, for a while, and returns how many of the polls
// failed.
func (c client) pollSteadily(ctx context.Context, triggers []trigger, rate float64, lasts time.Duration) (polls, failed int, err error) {
	return steadyLoop(ctx, rate, lasts, func(i int) error { return c.poll(ctx, triggers[i%len(triggers)]) })
}

// listen opens a StreamIsActive and calls heard at each true, until the stream ends.
func (c client) listen(ctx context.Context, ref *pb.ScaledObjectRef, heard func(time.Time)) error {
	stream, err := c.StreamIsActive(ctx, ref)
	if err != nil {
		return err
	}
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				return
			}
			heard(time.Now())
		}
	}()
	return nil
}

// wakes opens the stream of a ScaledObject for the queue of a race.
func (c client) wakes(ctx context.Context, heard func(time.Time)) error {
	return c.listen(ctx, c.object(0, wakeQueue), heard)
}
