package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// TestMain lets the scripts run leadsman as a command of its own process.
func TestMain(m *testing.M) {
	testscript.Main(withServers{m}, map[string]func(){
		"leadsman": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			code := run(ctx)
			stop()
			os.Exit(code)
		},
	})
}

// withServers ends the throwaway PostgreSQL once the tests have run.
type withServers struct{ tests *testing.M }

func (w withServers) Run() int { return storagetest.Main(w.tests) }

// TestScripts runs what people type, in testdata/script. Each script has free ports in its environment for the
// server, and three commands more: "serving" waits until the server answers, "active QUEUE" and "! active QUEUE" wait
// until it tells KEDA so, "get STATUS PATH [TOKEN]" asks over HTTP and leaves the answer in the file body.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			free := freeAddresses(t, 2)
			env.Setenv("LEADSMAN_GRPC_LISTEN", free[0])
			env.Setenv("LEADSMAN_HTTP_LISTEN", free[1])
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serving": serving,
			"get":     getOverHTTP,
			"active": func(ts *testscript.TestScript, neg bool, args []string) {
				await(ts, func(ctx context.Context, conn *grpc.ClientConn) bool {
					ref := &pb.ScaledObjectRef{Name: "script", ScalerMetadata: map[string]string{"queue": args[0]}}
					reply, err := pb.NewExternalScalerClient(conn).IsActive(ctx, ref)
					return err == nil && reply.GetResult() != neg
				})
			},
		},
	})
}

// await asks the script's server until ok, for a minute at most.
func await(ts *testscript.TestScript, ok func(context.Context, *grpc.ClientConn) bool) {
	conn, err := grpc.NewClient("passthrough:///"+ts.Getenv("LEADSMAN_GRPC_LISTEN"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	ts.Check(err)
	defer func() { ts.Check(conn.Close()) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for !ok(ctx, conn) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			ts.Fatalf("waited for a minute")
		}
	}
}
