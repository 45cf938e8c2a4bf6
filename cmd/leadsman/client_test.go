package main

import (
	"context"
	"flag"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

// TestClientScripts runs what people type to look into a server, in testdata/client. Each script has the address of
// its server in LEADSMAN_GRPC_LISTEN and in LEADSMAN_SERVER, a certificate for the name "leadsman" that is its own CA
// in tls.crt and tls.key, one that nobody trusts in other.crt and other.key, an address that is free in FREE_ADDRESS, and
// these commands besides:
//
//	serving              waits until the server answers
//	answering            waits until something accepts connections, such as a server that speaks TLS
//	get STATUS PATH      asks over HTTP, and writes body
//	keda QUEUE           asks what KEDA asks, of a ScaledObject team-mail/mailer
//	until FILE PATTERN   waits until a file has the pattern
//	steady FILE          replaces what differs from run to run in stdout, and writes FILE
//
// With -update the golden outputs are written anew.
func TestClientScripts(t *testing.T) {
	t.Parallel()
	update := flag.Lookup("update")
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/client",
		UpdateScripts: update != nil && update.Value.String() == "true",
		Setup: func(env *testscript.Env) error {
			addresses := freeAddresses(t, 2)
			env.Setenv("LEADSMAN_GRPC_LISTEN", addresses[0])
			env.Setenv("LEADSMAN_HTTP_LISTEN", "off")
			env.Setenv("FREE_ADDRESS", addresses[1])
			env.Setenv("LEADSMAN_SERVER", addresses[0])
			writePair(t, env.WorkDir, "tls.crt", "tls.key")
			writePair(t, env.WorkDir, "other.crt", "other.key")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"serving":   serving,
			"answering": answering,
			"get":       getOverHTTP,
			"keda":      keda,
			"shows":     shows,
			"until":     until,
			"steady":    steady,
		},
	})
}

// freeAddresses finds n addresses to listen on. It gives them free only once it has all, so that no two are the same.
func freeAddresses(t *testing.T, n int) []string {
	t.Helper()
	if n == 0 {
		return nil
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return append(freeAddresses(t, n-1), listener.Addr().String())
}

// serving waits until the script's server answers.
func serving(ts *testscript.TestScript, _ bool, _ []string) {
	await(ts, func(ctx context.Context, conn *grpc.ClientConn) bool {
		reply, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
		return err == nil && reply.GetStatus() == healthpb.HealthCheckResponse_SERVING
	})
}

// answering connects until it can, for a minute at most.
func answering(ts *testscript.TestScript, _ bool, _ []string) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", ts.Getenv("LEADSMAN_SERVER"))
		if err == nil {
			ts.Check(conn.Close())
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("waited for a minute: %v", err)
		}
	}
}

// keda asks for spec, value and activity.
func keda(ts *testscript.TestScript, _ bool, args []string) {
	ref := &pb.ScaledObjectRef{Namespace: "team-mail", Name: "mailer", ScalerMetadata: map[string]string{"queue": args[0]}}
	await(ts, func(ctx context.Context, conn *grpc.ClientConn) bool {
		scaler := pb.NewExternalScalerClient(conn)
		spec, err := scaler.GetMetricSpec(ctx, ref)
		ts.Check(err)
		_, err = scaler.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: ref, MetricName: spec.GetMetricSpecs()[0].GetMetricName()})
		ts.Check(err)
		_, err = scaler.IsActive(ctx, ref)
		ts.Check(err)
		return true
	})
}

// shows runs a command until its standard output matches a pattern: a server answers from samples that are up to a
// second old.
func shows(ts *testscript.TestScript, _ bool, args []string) {
	pattern := regexp.MustCompile("(?m)" + args[0])
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if err := ts.Exec(args[1], args[2:]...); err == nil && pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%q never showed %q", args[1:], args[0])
		}
	}
}

// until reads a file again and again, for a minute at most.
func until(ts *testscript.TestScript, _ bool, args []string) {
	pattern, deadline := regexp.MustCompile("(?m)"+args[1]), time.Now().Add(time.Minute)
	for {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		switch {
		case err == nil && pattern.Match(data):
			return
		case time.Now().After(deadline):
			ts.Fatalf("waited for a minute for %s in %s:\n%s", args[1], args[0], data)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// unsteady is what differs from run to run, and what stands for it. With the widths of ages go those of columns, so
// white space between columns counts for no more than that.
var unsteady = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(µs|ms|s|m|h|d))+\b`), "AGE"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "SERVER"},
	{regexp.MustCompile(`"(reads|queuesWanted)": \d+`), `"$1": N`},
	{regexp.MustCompile(`(\S)  +`), "$1  "},
}

func steady(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile("stdout")
	for _, u := range unsteady {
		text = u.pattern.ReplaceAllString(text, u.instead)
	}
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), args[0]), []byte(text), 0o600))
}
