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
	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/driver"
)

// Channels is a queue system that leadsman does not know: Go channels, by name.
type Channels map[string]chan string

// Read tells the length of each channel that is wanted, once; an empty name wants them all.
func (c Channels) Read(_ context.Context, req driver.Request) (driver.Reading, error) {
	names := map[string]bool{}
	for _, want := range req.Wants {
		if want.Queue != "" {
			names[want.Queue] = true
			continue
		}
		for name := range c {
			names[name] = true
		}
	}
	reading := driver.Reading{Now: time.Now()}
	for name := range names {
		channel, known := c[name]
		reading.Queues = append(reading.Queues, driver.Queue{Name: name, Known: known, Ready: int64(len(channel))})
	}
	return reading, nil
}

// Close has nothing to close.
func (c Channels) Close() error { return nil }

// A source of your own needs two methods. Where it has no Watch, leadsman looks four times a second while KEDA waits
// for a job.
func Example_ownSource() {
	channels := Channels{"mail": make(chan string, 10), "video": make(chan string, 10)}
	source, err := storage.New("channels", channels, storage.WithTraits(storage.Traits{
		Engine:      "channels",
		NoLookahead: true, // nothing is scheduled here
	}))
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
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()

	channels["mail"] <- "hello"
	channels["mail"] <- "world"

	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	keda := pb.NewExternalScalerClient(conn)
	for _, queue := range []string{"mail", "video", "m*, video"} {
		ref := &pb.ScaledObjectRef{Name: "worker", Namespace: "default", ScalerMetadata: map[string]string{"queue": queue}}
		resp, err := keda.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: ref})
		fmt.Println(queue, resp.GetMetricValues()[0].GetMetricValueFloat(), err)
	}

	stop()
	fmt.Println(<-ended)

	// Output:
	// mail 2 <nil>
	// video 0 <nil>
	// m*, video 2 <nil>
	// <nil>
}
