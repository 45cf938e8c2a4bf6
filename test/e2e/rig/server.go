package rig

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/leadsman/leadsman/storage/storagetest"
)

const startTimeout = 30 * time.Second // generous: other tests may keep the machine busy

// A Server is `leadsman serve`. It keeps its folder and its addresses over restarts.
type Server struct {
	*Program // nil until it is started

	Dir         string                           // working folder; holds the configuration and the embedded queue
	GRPC        string                           // address of gRPC
	HTTP        string                           // address of HTTP
	Credentials credentials.TransportCredentials // how the test asks for its health
	Command     func(*exec.Cmd)                  // changes the command before a start; nil for none

	tb     testing.TB
	config string // the configuration file; "" for none
}

// Serve starts a server with a configuration file of this content, or with none if config is "". It is stopped when the
// test ends, and has to end well then.
func Serve(tb testing.TB, config string) *Server {
	tb.Helper()
	s := NewServer(tb)
	if config != "" {
		s.Configure(config)
	}
	s.Start()
	return s
}

// NewServer makes a server that is not started yet.
func NewServer(tb testing.TB) *Server {
	tb.Helper()
	return &Server{
		Dir: tb.TempDir(), GRPC: storagetest.FreeAddress(tb), HTTP: storagetest.FreeAddress(tb),
		Credentials: insecure.NewCredentials(), tb: tb,
	}
}

// Configure writes the configuration file, as a mounted ConfigMap changes: at once.
func (s *Server) Configure(config string) {
	s.tb.Helper()
	s.config = filepath.Join(s.Dir, "leadsman.yaml")
	if err := os.WriteFile(s.config+".new", []byte(config), 0o600); err != nil {
		s.tb.Fatal(err)
	}
	if err := os.Rename(s.config+".new", s.config); err != nil {
		s.tb.Fatal(err)
	}
}

// Start starts the server and waits until it is healthy.
func (s *Server) Start() {
	s.tb.Helper()
	args := []string{"serve", "--grpc-listen", s.GRPC, "--http-listen", s.HTTP, "--log-level", "debug"}
	if s.config != "" {
		args = append(args, "--config", s.config)
	}
	cmd := Leadsman(s.tb, s.Dir, args...)
	if s.Command != nil {
		s.Command(cmd)
	}
	began := time.Now()
	s.Program = Start(s.tb, cmd)
	ctx, cancel := context.WithTimeout(s.tb.Context(), startTimeout)
	defer cancel()
	go func() { // no use in waiting for a server that has ended
		select {
		case <-s.Ended():
			cancel()
		case <-ctx.Done():
		}
	}()
	conn, err := grpc.NewClient(s.GRPC, grpc.WithTransportCredentials(s.Credentials), grpc.WithConnectParams(grpc.ConnectParams{
		Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond},
		// Without it a connection has as long as the backoff to come about, and is given up with the call on it.
		MinConnectTimeout: startTimeout,
	}))
	if err != nil {
		s.tb.Fatal(err)
	}
	defer conn.Close()
	got, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil || got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		s.tb.Fatalf("the server did not get healthy: %v, %v", got, err)
	}
	s.tb.Logf("healthy after %v", time.Since(began))
}

// Stop ends the server in order and returns how long that took.
func (s *Server) Stop() time.Duration {
	s.tb.Helper()
	began := time.Now()
	s.Terminate()
	return time.Since(began)
}

// Certify writes the files tls.crt, tls.key and ca.crt, for the configuration to name.
func (s *Server) Certify(own Pair, clientCA string) {
	s.tb.Helper()
	for name, content := range map[string]string{"tls.crt": own.Cert, "tls.key": own.Key, "ca.crt": clientCA} {
		if err := os.WriteFile(filepath.Join(s.Dir, name), []byte(content), 0o600); err != nil {
			s.tb.Fatal(err)
		}
	}
}
