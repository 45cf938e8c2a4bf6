package scaler_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/leadsman/leadsman/scaler"
	"github.com/leadsman/leadsman/scaler/inspect"
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/memory"
)

// A program that has jobs in its own memory serves them to KEDA by itself.
func Example() {
	jobs := memory.New()
	source, err := storage.New("jobs", jobs)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server, err := scaler.New(scaler.Options{
		Sources:  []scaler.Source{{Source: source}},
		Listener: listener,
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	inspect.Register(server) // for people; KEDA does not need it

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()

	jobs.Enqueue("mail", 42)
	ask(listener.Addr(), map[string]string{"queue": "mail", "target": "5"})

	stop()
	fmt.Println("ended with", <-ended)

	// Output:
	// queue-jobs--mail--outstanding: 42, active: true
	// ended with <nil>
}

// ask asks a server as KEDA does, for a trigger of this metadata.
func ask(addr net.Addr, metadata map[string]string) {
	conn, err := grpc.NewClient(addr.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	keda := pb.NewExternalScalerClient(conn)
	ref := &pb.ScaledObjectRef{Name: "worker", Namespace: "default", ScalerMetadata: metadata}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	metrics, err := keda.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: ref})
	if err != nil {
		fmt.Println(err)
		return
	}
	active, err := keda.IsActive(ctx, ref)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, metric := range metrics.GetMetricValues() {
		fmt.Printf("%s: %g, active: %v\n", metric.GetMetricName(), metric.GetMetricValueFloat(), active.GetResult())
	}
}
