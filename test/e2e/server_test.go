package e2e

import (
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
)

const (
	startTimeout = 30 * time.Second // generous: other tests may keep the machine busy
	stopTimeout  = 15 * time.Second // the server's own deadline is 10 s
)

// A server is `leadsman serve`. It keeps its folder and its addresses over restarts.
type server struct {
	*process

	t      *testing.T
	dir    string                           // working folder; holds the configuration and the embedded queue
	addr   string                           // of gRPC
	http   string                           // of HTTP
	config string                           // the configuration file; "" for none
	creds  credentials.TransportCredentials // how the test asks for its health
}

// serve starts a server on a configuration file, or on none if config is "". It is stopped when the test ends, and
// has to end well then.
func serve(t *testing.T, config string) *server {
	t.Helper()
	s := newServer(t)
	if config != "" {
		s.configure(config)
	}
	s.start()
	return s
}

// newServer makes a server that is not started yet.
func newServer(t *testing.T) *server {
	t.Helper()
	return &server{t: t, dir: t.TempDir(), addr: freeAddress(t), http: freeAddress(t), creds: insecure.NewCredentials()}
}

// configure writes the configuration file, as a mounted ConfigMap changes: at once.
func (s *server) configure(config string) {
	s.t.Helper()
	s.config = filepath.Join(s.dir, "leadsman.yaml")
	if err := os.WriteFile(s.config+".new", []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(s.config+".new", s.config); err != nil {
		s.t.Fatal(err)
	}
}

// start starts the server and waits until it is healthy.
func (s *server) start() {
	s.t.Helper()
	args := []string{"serve", "--grpc-listen", s.addr, "--http-listen", s.http, "--log-level", "debug"}
	if s.config != "" {
		args = append(args, "--config", s.config)
	}
	began := time.Now()
	s.process = start(s.t, s.dir, args...)
	ctx, cancel := context.WithTimeout(s.t.Context(), startTimeout)
	defer cancel()
	go func() { // no use in waiting for a server that has ended
		select {
		case <-s.process.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(s.creds), grpc.WithConnectParams(grpc.ConnectParams{
		Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond},
	}))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	got, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil || got.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		s.t.Fatalf("the server did not get healthy: %v, %v", got, err)
	}
	s.t.Logf("healthy after %v", time.Since(began))
}

// stop ends the server in order and returns how long that took.
func (s *server) stop() time.Duration {
	s.t.Helper()
	began := time.Now()
	s.terminate()
	return time.Since(began)
}

// A process is a running leadsman of any subcommand.
type process struct {
	t          *testing.T
	cmd        *exec.Cmd
	log        *log
	ended      chan struct{} // closed when err is set
	err        error
	terminated bool
}

// start runs leadsman in a folder. What it writes is shown if the test fails. It has to run until it is terminated,
// which happens at the end of the test at the latest.
func start(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(binary, args...), log: &log{}, ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = dir, cleanEnvironment()
	p.cmd.Stdout = t.Output()
	p.cmd.Stderr = io.MultiWriter(t.Output(), p.log)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() {
		if !p.terminated {
			p.terminate()
		}
	})
	return p
}

// terminate sends SIGTERM, as Kubernetes does, and expects exit code 0.
func (p *process) terminate() {
	p.t.Helper()
	p.terminated = true
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Errorf("SIGTERM: %v", err)
	}
	select {
	case <-p.ended:
		if p.err != nil {
			p.t.Errorf("leadsman ended with %v, want exit code 0", p.err)
		}
	case <-time.After(stopTimeout):
		p.t.Errorf("leadsman did not end within %s of SIGTERM", stopTimeout)
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// leadsman runs a subcommand to its end and returns what it wrote to standard output.
func leadsman(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Dir, cmd.Stderr = dir, t.Output()
	cmd.Env = cleanEnvironment()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("leadsman %v: %v", args, err)
	}
	return out
}

// cleanEnvironment is the test's own without what would configure leadsman.
func cleanEnvironment() []string {
	env := []string{}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "LEADSMAN_") {
			env = append(env, variable)
		}
	}
	return env
}

// freeAddress is one of loopback that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
