package scaler_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/storage/memory"
)

// Case 14, rule 6: an error would have KEDA wait for up to a minute, an end with OK for 2 s.
func TestShutdownEndsEveryStreamWithOKAndRunReturnsNil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		b := serve(t, nil, source(t, "jobs", store), source(t, "hung", newSlow(forever)))
		streams := make([]*heard, 500)
		for i := range streams {
			name := []string{"jobs", "jobs", "hung"}[i%3]
			streams[i] = b.listen(ref("source", name, "queue", fmt.Sprintf("queue-%d", i)))
		}
		spec, err := b.StreamMetricSpec(t.Context(), ref("source", "jobs"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		start := time.Now()
		if err := b.stop(); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("the shutdown took %v, want no longer than one read", took)
		}
		for _, h := range streams {
			if err := h.end(); !errors.Is(err, io.EOF) {
				t.Fatalf("a stream ended with %v, want EOF", err)
			}
		}
		if _, err := spec.Recv(); err != nil {
			t.Errorf("spec: %v", err)
		}
		if _, err := spec.Recv(); !errors.Is(err, io.EOF) {
			t.Errorf("the spec's stream ended with %v, want EOF", err)
		}
		if strings.Contains(b.log.String(), "cut off") {
			t.Errorf("calls were cut off:\n%s", b.log)
		}
	})
}

func TestCallsUnderWayAreAnsweredBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlow(time.Second)
		store.Enqueue("mail", 3)
		b := serve(t, nil, source(t, "jobs", store))
		answered := make(chan error, 1)
		go func() {
			value, err := b.value(ref("queue", "mail"))
			if err == nil && value.GetMetricValueFloat() != 3 {
				err = fmt.Errorf("value = %v, want 3", value)
			}
			answered <- err
		}()
		time.Sleep(100 * time.Millisecond)
		if err := b.stop(); err != nil {
			t.Errorf("Run = %v", err)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
	})
}

// A stuck is a client's connection that stops reading: what is sent to it piles up.
type stuck struct {
	net.Conn

	on     atomic.Bool
	once   sync.Once
	closed chan struct{}
}

func (s *stuck) Read(p []byte) (int, error) {
	if s.on.Load() {
		<-s.closed
		return 0, io.EOF
	}
	return s.Conn.Read(p)
}

func (s *stuck) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.Conn.Close()
}

func TestClientThatNeverReadsIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, func(o *scaler.Options) { o.ShutdownTimeout = 3 * time.Second }, source(t, "jobs", memory.New()))
		conn := &stuck{closed: make(chan struct{})}
		client := b.dial(grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			if conn.Conn != nil {
				return nil, errors.New("once is enough")
			}
			var err error
			conn.Conn, err = b.listener.DialContext(ctx)
			t.Cleanup(func() { _ = conn.Close() }) // grpc has given it up by then
			return conn, err
		}))
		for i := range 1000 { // the ends of so many do not fit into the pipe
			if _, err := pb.NewExternalScalerClient(client).StreamIsActive(t.Context(), ref("queue", fmt.Sprintf("queue-%d", i))); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		conn.on.Store(true)
		start := time.Now()
		if err := b.stop(); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		if took := time.Since(start); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("the shutdown took %v, want ShutdownTimeout", took)
		}
		if !strings.Contains(b.log.String(), "cut off") {
			t.Errorf("the log does not tell of it:\n%s", b.log)
		}
	})
}

func TestHealthSaysWhenTheServerIsGoing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlow(time.Second)
		b := serve(t, nil, source(t, "jobs", store))
		watch, err := healthpb.NewHealthClient(b.conn).Watch(t.Context(), &healthpb.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := watch.Recv(); err != nil || got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health = %v, %v, want serving", got, err)
		}
		stopped := make(chan error, 1)
		go func() { stopped <- b.stop() }()
		if got, err := watch.Recv(); err != nil || got.GetStatus() != healthpb.HealthCheckResponse_NOT_SERVING {
			t.Errorf("health = %v, %v, want not serving", got, err)
		}
		if err := <-stopped; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

// Case 16: a load balancer drops what is idle for 350 s, and a client that pings must not be told to go away.
func TestIdleConnectionsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, nil, source(t, "jobs", memory.New()))
		pinging := b.dial(grpc.WithIdleTimeout(0), grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: 10 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true,
		}))
		var last atomic.Int64 // when the silent connection last got anything
		var gap atomic.Int64
		silent := b.dial(grpc.WithIdleTimeout(0), grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			conn, err := b.listener.DialContext(ctx)
			last.Store(time.Now().UnixNano())
			return &gauged{Conn: conn, last: &last, gap: &gap}, err
		}))
		for _, conn := range []*grpc.ClientConn{pinging, silent} {
			if _, err := pb.NewExternalScalerClient(conn).GetMetricSpec(t.Context(), ref()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		for name, conn := range map[string]*grpc.ClientConn{"pinging": pinging, "silent": silent} {
			if got := conn.GetState(); got != connectivity.Ready {
				t.Errorf("the %s connection is %v after an hour, want ready", name, got)
			}
		}
		if got := time.Duration(gap.Load()); got > time.Minute {
			t.Errorf("nothing was sent for %v, want a ping each 30 s", got)
		}
	})
}

// A gauged is a connection that notes the longest time without anything to read.
type gauged struct {
	net.Conn

	last, gap *atomic.Int64
}

func (g *gauged) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	now := time.Now().UnixNano()
	g.gap.Store(max(g.gap.Load(), now-g.last.Swap(now)))
	return n, err
}

func TestRunReportsAListenerThatFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	server, err := scaler.New(scaler.Options{
		Sources: []scaler.Source{source(t, "jobs", memory.New())}, Listener: listener, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Run(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run = %v, want the listener's error", err)
	}
}

func TestNewRefusesWhatCannotServe(t *testing.T) {
	jobs := source(t, "jobs", memory.New())
	for name, c := range map[string]struct {
		opts scaler.Options
		says string
	}{
		"no source":         {scaler.Options{}, "no source"},
		"one name twice":    {scaler.Options{Sources: []scaler.Source{jobs, jobs}}, `"jobs"`},
		"a malformed token": {scaler.Options{Sources: []scaler.Source{jobs}, Access: scaler.Access{Tokens: []scaler.Token{{Grant: scaler.Grant{ID: "x"}}}}}, `token "x"`},
	} {
		if _, err := scaler.New(c.opts); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: New = %v, want an error that says %s", name, err, c.says)
		}
	}
	server, err := scaler.New(scaler.Options{Sources: []scaler.Source{jobs}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "listener") {
		t.Errorf("Run without a listener = %v", err)
	}
}

func TestEveryConnectionIsServedUntilTheEndAndNoneAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := serve(t, nil, source(t, "jobs", memory.New()))
		b.wantActive(ref(), false)
		if err := b.stop(); err != nil {
			t.Errorf("Run = %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if _, err := b.IsActive(ctx, ref()); err == nil {
			t.Error("an answer after Run has returned")
		}
	})
}
