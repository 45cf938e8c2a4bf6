package peers

import (
	"context"
	"fmt"
	"os/exec"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/leadsman/leadsman/test/e2e/cluster"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// An installation is leadsman as the chart installs it: two replicas behind the names of its Services.
type installation struct {
	cluster.Release

	replicas []*rig.Server
	clients  []pb.ExternalScalerClient // of each replica
}

// install starts leadsman until the test ends.
func install(t *testing.T, number int, config string) *installation {
	t.Helper()
	in := &installation{Release: cluster.NewRelease(number)}
	for _, host := range in.Hosts {
		replica := rig.NewServer(t)
		replica.GRPC, replica.HTTP = host+":50051", host+":8080"
		replica.Configure(config)
		replica.Command = func(cmd *exec.Cmd) { cmd.Args = append(cmd.Args, "--log-level", "warn") } // the last one counts
		replica.Start()
		in.replicas = append(in.replicas, replica)
		conn, err := grpc.NewClient(replica.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		in.clients = append(in.clients, pb.NewExternalScalerClient(conn))
	}
	return in
}

// denies waits until each replica has said that there is no job for a trigger, as it says to KEDA's polls. From then on the next
// job is news for a stream.
func (in *installation) denies(ctx context.Context, namespace, object string, metadata map[string]string) error {
	ref := &pb.ScaledObjectRef{Namespace: namespace, Name: object, ScalerMetadata: metadata}
	for _, ask := range in.clients {
		for {
			is, err := ask.IsActive(ctx, ref)
			if err != nil {
				return fmt.Errorf("leadsman: %s: %w", object, err)
			}
			if !is.GetResult() {
				break
			}
			if err := pause(ctx, 50*time.Millisecond); err != nil {
				return fmt.Errorf("leadsman still says that %s is active: %w", object, err)
			}
		}
	}
	return nil
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
