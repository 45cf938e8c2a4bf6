package main

import (
	"context"
	"flag"
	"net"
	"sync"

	"github.com/jackc/pgx/v5"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// bareCommand makes this program the bare server.
const bareCommand = "bare"

// bare runs the limit: KEDA's service with nothing behind it but what the flags say. It takes no trigger apart,
// reads nothing that it is not told to, forgets nothing and survives nothing.
func bare(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet(bareCommand, flag.ContinueOnError)
	listen := flags.String("listen", "", "address to serve gRPC on")
	postgres := flags.String("postgres", "", "database to LISTEN on; each notification is a true on every stream")
	check := flags.String("check", "", "with -postgres: a query that must say true before anything is sent")
	sqlite := flags.String("sqlite", "", "file to watch; a job in it is a true on every stream")
	redis := flags.String("redis", "", "address of a Redis whose list \""+wakeQueue+"\" is tracked; a job in it is a true on every stream")
	if err := flags.Parse(args); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	s := &bareServer{streams: map[chan struct{}]struct{}{}}
	ended := make(chan error, 1)
	switch {
	case *postgres != "":
		conn, err := listenTo(ctx, *postgres)
		if err != nil {
			return err
		}
		go func() { ended <- s.followPostgres(ctx, conn, *postgres, *check) }()
	case *sqlite != "":
		follow, err := watchFile(*sqlite)
		if err != nil {
			return err
		}
		go func() { ended <- follow(ctx, s.wake) }()
	case *redis != "":
		follow, err := trackList(ctx, *redis)
		if err != nil {
			return err
		}
		go func() { ended <- unlessDone(ctx, follow(s.wake)) }()
	}
	server := grpc.NewServer()
	pb.RegisterExternalScalerServer(server, s)
	healthpb.RegisterHealthServer(server, health.NewServer())
	go func() { ended <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
		server.Stop()
		return nil
	case err := <-ended:
		return err
	}
}

// bareServer answers with constants of the size of leadsman's answers.
type bareServer struct {
	pb.UnimplementedExternalScalerServer

	mu      sync.Mutex
	streams map[chan struct{}]struct{} // open StreamIsActive streams
}

// IsActive implements KEDA's service.
func (*bareServer) IsActive(context.Context, *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	return &pb.IsActiveResponse{Result: true}, nil
}

// GetMetrics implements KEDA's service.
func (*bareServer) GetMetrics(_ context.Context, req *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{{
		MetricName: req.GetMetricName(), MetricValue: 10, MetricValueFloat: 10,
	}}}, nil
}

// GetMetricSpec implements KEDA's service.
func (*bareServer) GetMetricSpec(context.Context, *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	return &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{{MetricName: "queue-bench", TargetSize: 10, TargetSizeFloat: 10}}}, nil
}

// StreamIsActive implements KEDA's service: a channel with a stream behind it.
func (s *bareServer) StreamIsActive(_ *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.IsActiveResponse]) error {
	ring := make(chan struct{}, 1)
	s.mu.Lock()
	s.streams[ring] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.streams, ring)
	}()
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
func (s *bareServer) StreamMetricSpec(ref *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.GetMetricSpecResponse]) error {
	ctx := stream.Context()
	spec, err := s.GetMetricSpec(ctx, ref)
	if err != nil {
		return err
	}
	if err := stream.Send(spec); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// wake sends true on every stream.
func (s *bareServer) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ring := range s.streams {
		select {
		case ring <- struct{}{}:
		default:
		}
	}
}

// listenTo listens as leadsman's preset for River does.
func listenTo(ctx context.Context, url string) (*pgx.Conn, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, `LISTEN "public.river_insert"`)
	return conn, err
}

// followPostgres wakes at each notification, if check agrees; "" always does.
func (s *bareServer) followPostgres(ctx context.Context, conn *pgx.Conn, url, check string) error {
	reader, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return unlessDone(ctx, err)
		}
		active := true
		if check != "" {
			if err := reader.QueryRow(ctx, check).Scan(&active); err != nil { // pgx prepares it once
				return unlessDone(ctx, err)
			}
		}
		if active {
			s.wake()
		}
	}
}

// unlessDone returns err, or nil when the end of ctx is its reason.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return nil
}
