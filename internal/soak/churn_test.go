package soak

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
)

// queues are those of each source in which jobs come and go.
const queues = 10

// queueOf is the i-th queue of a source.
func queueOf(source string, i int) string {
	if source == riverSource {
		return fmt.Sprintf("mail-%d", i%queues)
	}
	return fmt.Sprintf("task-%d", i%queues)
}

// sourceOf is the i-th source.
func sourceOf(i int) string {
	if i%2 == 0 {
		return riverSource
	}
	return asynqSource
}

// A churner asks with metadata that nobody has sent before and nobody will send again.
type churner struct {
	stage  *stage
	client pb.ExternalScalerClient
	next   atomic.Int64
}

// A set is one trigger's metadata, and how the server has to answer.
type set struct {
	ref  *pb.ScaledObjectRef
	want codes.Code
}

// set makes the i-th. All of its tunables are its own; a tenth name a queue of their own; some have no business here.
func (c *churner) set(i int) set {
	source := sourceOf(i)
	metadata := map[string]string{
		"scalerAddress": c.stage.grpc, "source": source, "queue": queueOf(source, i/2), "token": c.stage.tokens.keda,
		"name": fmt.Sprintf("metric-%d", i), "target": strconv.Itoa(1 + i), "activation": strconv.Itoa(i % 100),
		"linger": fmt.Sprintf("%dms", i%1000),
	}
	s := set{ref: &pb.ScaledObjectRef{Name: fmt.Sprintf("passing-%d", i), Namespace: fmt.Sprintf("space-%d", i%500), ScalerMetadata: metadata}}
	switch {
	case i%17 == 0:
		metadata["token"], s.want = "ldm_keda_"+strconv.Itoa(i), codes.Unauthenticated
	case i%19 == 0:
		metadata["queu"], s.want = strconv.Itoa(i), codes.InvalidArgument
	case i%23 == 0:
		metadata["token"], s.want = c.stage.tokens.team, codes.PermissionDenied // not in this namespace
	case i%10 == 0 || i%10 == 1:
		metadata["queue"] = fmt.Sprintf("passing-%d", i)
	}
	return s
}

// work asks for a set after the other, each as KEDA asks for a new object.
func (c *churner) work(ctx context.Context, t *tally, interval time.Duration) {
	every(ctx, interval, func() {
		s := c.set(int(c.next.Add(1)))
		t.sets.Add(1)
		_, err := c.client.GetMetricSpec(ctx, s.ref)
		t.ended(ctx, "GetMetricSpec", err, s.want)
		_, err = c.client.IsActive(ctx, s.ref)
		t.ended(ctx, "IsActive", err, s.want)
		_, err = c.client.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: s.ref, MetricName: s.ref.GetScalerMetadata()["name"]})
		t.ended(ctx, "GetMetrics", err, s.want)
	})
}

// fill has the server remember n triggers, and read so many queues of each source along, so that what it keeps within
// bounds is full before anything is judged: it is meant to stay so. It is no part of the tally.
func (c *churner) fill(ctx context.Context, n, queues int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(64)
	ask := func(source, queue string, ask func(ctx context.Context, ref *pb.ScaledObjectRef) error) {
		ref := &pb.ScaledObjectRef{Name: fmt.Sprintf("filling-%d", c.next.Add(1)), Namespace: "fill", ScalerMetadata: map[string]string{
			"source": source, "queue": queue, "token": c.stage.tokens.keda,
		}}
		group.Go(func() error { return ask(ctx, ref) })
	}
	for range n {
		ask(riverSource, queueOf(riverSource, 0), func(ctx context.Context, ref *pb.ScaledObjectRef) error {
			_, err := c.client.GetMetricSpec(ctx, ref)
			return err
		})
	}
	for i := range 2 * queues {
		ask(sourceOf(i), fmt.Sprintf("filling-%d", i), func(ctx context.Context, ref *pb.ScaledObjectRef) error {
			_, err := c.client.IsActive(ctx, ref)
			return err
		})
	}
	return group.Wait()
}
