package peers

import (
	"context"
	"encoding/json"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
)

// A bareScaler is the floor: the barest server for a trigger of type external-push. It runs in this process and sends true
// when it is told to, with nothing behind it and without a doubt.
type bareScaler struct {
	pb.UnimplementedExternalScalerServer

	addr string

	mu    sync.Mutex
	rings map[string]chan struct{} // of the queues, by which their streams are woken
}

// startBare serves until the test ends.
func startBare(t *testing.T) *bareScaler {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &bareScaler{addr: listener.Addr().String(), rings: map[string]chan struct{}{}}
	server := grpc.NewServer()
	pb.RegisterExternalScalerServer(server, b)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return b
}

// wake sends true on a queue's stream.
func (b *bareScaler) wake(queue string) {
	select {
	case b.ring(queue) <- struct{}{}:
	default: // one is under way
	}
}

func (b *bareScaler) ring(queue string) chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rings[queue] == nil {
		b.rings[queue] = make(chan struct{}, 1)
	}
	return b.rings[queue]
}

// listen wakes the queue that River's client has announced, until the test ends.
func (b *bareScaler) listen(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `LISTEN "public.river_insert"`); err != nil {
		t.Fatal(err)
	}
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		defer conn.Close(context.WithoutCancel(t.Context()))
		for {
			told, err := conn.WaitForNotification(t.Context())
			if err != nil {
				return // the test ends, or its rounds will tell
			}
			var job struct{ Queue string }
			if json.Unmarshal([]byte(told.Payload), &job) == nil {
				b.wake(job.Queue)
			}
		}
	}()
	t.Cleanup(func() { <-listening })
}

// StreamIsActive implements KEDA's service.
func (b *bareScaler) StreamIsActive(ref *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.IsActiveResponse]) error {
	ring := b.ring(ref.GetScalerMetadata()["queue"])
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case <-ring:
			if err := stream.Send(&pb.IsActiveResponse{Result: true}); err != nil {
				return err
			}
		}
	}
}

// StreamMetricSpec implements KEDA's service.
func (b *bareScaler) StreamMetricSpec(_ *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.GetMetricSpecResponse]) error {
	if err := stream.Send(bareSpec()); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

// IsActive implements KEDA's service.
func (*bareScaler) IsActive(context.Context, *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	return &pb.IsActiveResponse{}, nil
}

// GetMetricSpec implements KEDA's service.
func (*bareScaler) GetMetricSpec(context.Context, *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	return bareSpec(), nil
}

// GetMetrics implements KEDA's service.
func (*bareScaler) GetMetrics(_ context.Context, req *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{{MetricName: req.GetMetricName()}}}, nil
}

func bareSpec() *pb.GetMetricSpecResponse {
	return &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{{MetricName: "queue-bare", TargetSize: 10, TargetSizeFloat: 10}}}
}
