package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A keda is the operator with ScaledObjects that come and go: both streams of each are open and it is polled, until it
// is deleted or the connection is cut.
type keda struct {
	stage   *stage
	shared  *grpc.ClientConn
	last    atomic.Int64
	passing atomic.Pointer[string] // the id of the token that comes and goes
}

// pollEvery is far below KEDA's interval, to have more happen.
const pollEvery = 500 * time.Millisecond

// work has one object after the other.
func (k *keda) work(ctx context.Context, t *tally) {
	for ctx.Err() == nil {
		if err := k.live(ctx, t); err != nil {
			t.oddf("connect: %v", err)
			return
		}
		t.objects.Add(1)
	}
}

// live is the life of one object, of a few seconds. A third of them have a connection of their own, as each does while
// KEDA's cache of scalers is rebuilt, and of these half are cut off in the middle.
func (k *keda) live(ctx context.Context, t *tally) error {
	conn := k.shared
	cut := func() {}
	if rand.N(3) == 0 {
		own, err := k.stage.connect()
		if err != nil {
			return err
		}
		defer own.Close()
		conn = own
		if rand.N(2) == 0 {
			cut = func() { _ = own.Close() } // the streams' ends tell
		}
	}
	ref, want := k.object()
	living, die := lasting(ctx, about(6*time.Second))
	defer die()
	client := pb.NewExternalScalerClient(conn)
	o := object{tally: t, client: client, ref: ref, want: want}
	var parts sync.WaitGroup
	parts.Go(func() { o.pushes(living) })
	parts.Go(func() { o.specs(living) })
	o.polls(living)
	cut()
	die()
	parts.Wait()
	return nil
}

// object makes a new one, of one of three kinds of callers.
func (k *keda) object() (ref *pb.ScaledObjectRef, want []codes.Code) {
	i := int(k.last.Add(1))
	source := sourceOf(i)
	ref = &pb.ScaledObjectRef{Name: fmt.Sprintf("worker-%d", i), Namespace: "default", ScalerMetadata: map[string]string{
		"scalerAddress": k.stage.grpc, "source": source, "queue": queueOf(source, rand.N(queues)), "token": k.stage.tokens.keda,
	}}
	want = []codes.Code{codes.OK}
	switch rand.N(4) {
	case 0:
		ref.Namespace, ref.ScalerMetadata["token"] = teamSpace, k.stage.tokens.team
		ref.ScalerMetadata["source"], ref.ScalerMetadata["queue"] = riverSource, teamQueues
	case 1: // until it is revoked
		ref.ScalerMetadata["token"], _ = newToken(*k.passing.Load())
		want = append(want, codes.Unauthenticated)
	}
	return ref, want
}

// An object is one ScaledObject's trigger.
type object struct {
	tally  *tally
	client pb.ExternalScalerClient
	ref    *pb.ScaledObjectRef
	want   []codes.Code
}

// polls asks until ctx is done.
func (o *object) polls(ctx context.Context) {
	spec, err := o.client.GetMetricSpec(ctx, o.ref)
	o.tally.ended(ctx, "an object's GetMetricSpec", err, o.want...)
	if err != nil {
		pause(ctx, pollEvery) // as KEDA does not hurry either
		return
	}
	get := &pb.GetMetricsRequest{ScaledObjectRef: o.ref, MetricName: spec.GetMetricSpecs()[0].GetMetricName()}
	every(ctx, about(pollEvery), func() {
		_, err := o.client.IsActive(ctx, o.ref)
		o.tally.ended(ctx, "an object's IsActive", err, o.want...)
		_, err = o.client.GetMetrics(ctx, get)
		o.tally.ended(ctx, "an object's GetMetrics", err, o.want...)
	})
}

// pushes listens for work.
func (o *object) pushes(ctx context.Context) {
	stream, err := o.client.StreamIsActive(ctx, o.ref)
	for err == nil {
		var message *pb.IsActiveResponse
		if message, err = stream.Recv(); err == nil {
			if !message.GetResult() {
				o.tally.oddf("a false was pushed")
			}
			o.tally.trues.Add(1)
		}
	}
	o.streamed(ctx, "StreamIsActive", err)
}

// specs listens for the spec.
func (o *object) specs(ctx context.Context) {
	stream, err := o.client.StreamMetricSpec(ctx, o.ref)
	for err == nil {
		_, err = stream.Recv()
	}
	o.streamed(ctx, "StreamMetricSpec", err)
}

// streamed counts a stream that has ended: by the client alone, or by a token that is good no more.
func (o *object) streamed(ctx context.Context, what string, err error) {
	o.tally.streams.Add(1)
	revoked := len(o.want) > 1 && status.Code(err) == codes.Unauthenticated
	if errors.Is(err, io.EOF) || ctx.Err() == nil && !revoked && status.Code(err) != codes.Canceled {
		o.tally.oddf("%s ended with %v", what, err)
	}
}
