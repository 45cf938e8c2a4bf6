package scaler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	"github.com/leadsman/leadsman/scaler/internal/auth"
	"github.com/leadsman/leadsman/scaler/internal/door"
)

// workers is how many goroutines wait for calls.
const workers = 64

// Bounds of what clients may send and hold. KEDA puts all its streams and calls on one connection, so the bound on streams
// is far beyond what it opens: two for each of its objects.
const (
	maxRequest       = 256 << 10        // bytes of a request; metadata of a trigger are a few hundred
	maxHeaders       = 32 << 10         // bytes of a call's headers
	maxStreams       = 1 << 18          // of one connection
	handshakeTimeout = 10 * time.Second // for TLS and the preface of HTTP/2
)

// bounds are those of connections. One that says nothing has a buffer of 32 KiB all the same.
var bounds = door.Bounds{Newcomers: 512, All: 4096}

// newGRPC makes the gRPC server with all its services; it has goroutines from then on. There is no maximum age for
// connections, because its GOAWAY ends streams with an error.
func (s *Server) newGRPC() *grpc.Server {
	server := grpc.NewServer(
		grpc.Creds(auth.WithHints(s.credentials(), s.log)),
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
		grpc.MaxRecvMsgSize(maxRequest),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(handshakeTimeout),
		// Goroutines that stay spare each call the growth of its stack. Streams take them for good, and then calls
		// get goroutines of their own, as without.
		grpc.NumStreamWorkers(workers),
		// Pings keep open what stands between. Their answers gRPC judges by the wall clock, and would give up each connection
		// after that was put back; so it waits for them for longer than clocks are put back. That a peer is gone the kernel
		// notices (package door).
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 24 * time.Hour}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	)
	healthpb.RegisterHealthServer(server, s.health)
	pb.RegisterExternalScalerServer(server, service{Server: s})
	for _, added := range s.services {
		server.RegisterService(added.desc, added.impl)
	}
	reflection.Register(server)
	if s.opts.Metrics != nil {
		s.metrics.calls.learn(server)
	}
	return server
}

func (s *Server) credentials() credentials.TransportCredentials {
	if s.opts.TLS == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(s.opts.TLS.Config())
}

// RegisterService adds a service to those that the server offers, behind the same access rules: package inspect's,
// for one. It is called before Run.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	s.services = append(s.services, addedService{desc, impl})
}

// An addedService is one that RegisterService was called with.
type addedService struct {
	desc *grpc.ServiceDesc
	impl any
}

// Run serves until ctx is done, then ends in order: health says so, streams end cleanly, calls under way are
// answered, watchers and reads are joined, sources are closed. It returns nil after such an end and is called once.
func (s *Server) Run(ctx context.Context) error {
	if s.opts.Listener == nil {
		return errors.New("scaler: no listener")
	}
	server := s.newGRPC()
	s.hub.Start()
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()
	var watchers sync.WaitGroup
	for _, src := range s.order {
		watchers.Go(func() { src.watch(watching) })
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(door.New(s.opts.Listener, bounds, s.log)) }()
	s.serving.Store(true)

	var err error
	select {
	case <-ctx.Done():
		s.log.Info("shutting down")
		s.drain(server)
		err = <-served
	case err = <-served:
		s.drain(server)
	}
	stopWatching()
	watchers.Wait()
	s.hub.Close()
	return errors.Join(wrapServe(err), s.closeSources())
}

func wrapServe(err error) error {
	if err == nil || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return fmt.Errorf("scaler: serve: %w", err)
}

// drain ends all streams and calls, by force once ShutdownTimeout is over. Streams go first, because a graceful stop
// waits for them, and a stream that ends with OK has KEDA back in 2 s, at another replica.
func (s *Server) drain(server *grpc.Server) {
	s.health.Shutdown()
	close(s.draining)
	force := time.AfterFunc(s.opts.ShutdownTimeout, func() {
		s.log.Warn("calls are cut off: the shutdown has taken too long", "timeout", s.opts.ShutdownTimeout)
		server.Stop()
	})
	defer force.Stop()
	server.GracefulStop()
}

func (s *Server) closeSources() error {
	errs := make([]error, len(s.order))
	for i, src := range s.order {
		src.samples.Close()
		errs[i] = src.Close()
	}
	return errors.Join(errs...)
}
