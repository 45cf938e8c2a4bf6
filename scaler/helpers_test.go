package scaler_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

// A bed is a server that a test asks, over gRPC and in memory. In a synctest bubble, where most of them live, all
// of it follows the bubble's clock.
type bed struct {
	pb.ExternalScalerClient // as KEDA asks

	t        testing.TB
	server   *scaler.Server
	listener *bufconn.Listener
	conn     *grpc.ClientConn
	log      *journal
	stop     func() error // ends the server and returns what Run does; may be called again
}

// serve starts a server; change may be nil. It is stopped, and has to stop well, when the test ends.
func serve(tb testing.TB, change func(*scaler.Options), sources ...scaler.Source) *bed {
	tb.Helper()
	b := &bed{t: tb, listener: bufconn.Listen(4 << 10), log: &journal{}}
	opts := scaler.Options{
		Sources:  sources,
		Listener: b.listener,
		Logger:   slog.New(slog.NewTextHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&opts)
	}
	var err error
	if b.server, err = scaler.New(opts); err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.server.Run(ctx) }()
	b.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	tb.Cleanup(func() {
		if err := b.stop(); err != nil {
			tb.Errorf("Run = %v, want nil", err)
		}
	})
	b.conn = b.dial()
	b.ExternalScalerClient = pb.NewExternalScalerClient(b.conn)
	return b
}

// dial connects another client.
func (b *bed) dial(opts ...grpc.DialOption) *grpc.ClientConn {
	b.t.Helper()
	opts = append([]grpc.DialOption{
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return b.listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	}, opts...)
	conn, err := grpc.NewClient("passthrough:leadsman", opts...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// source makes a source as the server takes it.
func source(tb testing.TB, name string, reader driver.Reader, opts ...storage.Option) scaler.Source {
	tb.Helper()
	s, err := storage.New(name, reader, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return scaler.Source{Source: s}
}

// ref is a trigger of the ScaledObject team/worker, its metadata given as key, value and so on.
func ref(metadata ...string) *pb.ScaledObjectRef {
	out := &pb.ScaledObjectRef{Name: "worker", Namespace: "team", ScalerMetadata: map[string]string{}}
	for i := 0; i < len(metadata); i += 2 {
		out.ScalerMetadata[metadata[i]] = metadata[i+1]
	}
	return out
}

// spec asks for the trigger's only metric.
func (b *bed) spec(ref *pb.ScaledObjectRef) *pb.MetricSpec {
	b.t.Helper()
	resp, err := b.GetMetricSpec(b.t.Context(), ref)
	if err != nil {
		b.t.Fatalf("GetMetricSpec(%v): %v", ref.GetScalerMetadata(), err)
	}
	if len(resp.GetMetricSpecs()) != 1 {
		b.t.Fatalf("GetMetricSpec(%v) = %v, want one spec", ref.GetScalerMetadata(), resp)
	}
	return resp.GetMetricSpecs()[0]
}

// value asks for the metric as KEDA does and returns the one value of the answer.
func (b *bed) value(ref *pb.ScaledObjectRef) (*pb.MetricValue, error) {
	resp, err := b.GetMetrics(b.t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: ref})
	if err != nil {
		return nil, err
	}
	if len(resp.GetMetricValues()) != 1 {
		return nil, errors.New("KEDA would add up several values, and an empty list breaks the HPA: " + resp.String())
	}
	return resp.GetMetricValues()[0], nil
}

// wantValue asks for the metric and compares.
func (b *bed) wantValue(ref *pb.ScaledObjectRef, want float64) {
	b.t.Helper()
	got, err := b.value(ref)
	if err != nil || got.GetMetricValueFloat() != want {
		b.t.Errorf("GetMetrics(%v) = %v, %v, want %g", ref.GetScalerMetadata(), got, err, want)
	}
}

// wantActive asks for the activity and compares.
func (b *bed) wantActive(ref *pb.ScaledObjectRef, want bool) {
	b.t.Helper()
	got, err := b.IsActive(b.t.Context(), ref)
	if err != nil || got.GetResult() != want {
		b.t.Errorf("IsActive(%v) = %v, %v, want %v", ref.GetScalerMetadata(), got, err, want)
	}
}

// wantStatus tells whether err is a status of this code whose message holds all of the texts.
func wantStatus(t *testing.T, err error, code codes.Code, texts ...string) {
	t.Helper()
	if got := status.Code(err); got != code {
		t.Errorf("code = %v (%v), want %v", got, err, code)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}

// A heard is what one StreamIsActive stream has been sent.
type heard struct {
	mu    sync.Mutex
	trues []time.Duration // when each came, after the stream was opened
	err   error           // how it ended
	ended chan struct{}
	close context.CancelFunc
}

// listen opens a stream, as KEDA does, in a synctest bubble and notes what it is sent. A false fails the test.
func (b *bed) listen(ref *pb.ScaledObjectRef) *heard {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.t.Cleanup(cancel)
	h := &heard{ended: make(chan struct{}), close: cancel}
	opened := time.Now()
	stream, err := b.StreamIsActive(ctx, ref)
	if err != nil {
		b.t.Fatalf("StreamIsActive: %v", err)
	}
	go func() {
		defer close(h.ended)
		for {
			resp, err := stream.Recv()
			if err == nil && !resp.GetResult() {
				b.t.Error("false on a stream: KEDA before 2.18 deactivates on it, whatever the other triggers say") // case 11
			}
			h.mu.Lock()
			if err != nil {
				h.err = err
				h.mu.Unlock()
				return
			}
			h.trues = append(h.trues, time.Since(opened))
			h.mu.Unlock()
		}
	}()
	// The bubble's clock stands still while anything runs. What follows must not happen at the very instant of the
	// stream's first look.
	time.Sleep(time.Millisecond)
	return h
}

// times returns when each true came.
func (h *heard) times() []time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.trues)
}

// end waits for the end of the stream and returns its error.
func (h *heard) end() error {
	<-h.ended
	return h.err
}

// open tells whether the stream is open.
func (h *heard) open() bool {
	select {
	case <-h.ended:
		return false
	default:
		return true
	}
}
