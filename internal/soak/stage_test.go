package soak

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// startTimeout bounds the start and the stop of a process; generous, for a loaded machine.
const startTimeout = time.Minute

// Names that the stage and the crews share.
const (
	riverSource = "river"
	asynqSource = "asynq"
	reader      = "leadsman_reader" // the server's user in PostgreSQL, and so how its connections are told from others
	teamSpace   = "team"            // the namespace, and the only one, of the team's token
	teamQueues  = "mail-*"
)

// A stage is the server and what it serves.
type stage struct {
	grpc, http string // addresses
	config     string // file
	pid        int
	river      *storagetest.River[pgx.Tx]
	database   string // URL, as its owner
	redis      *storagetest.RedisServer
	tokens     tokens
	web        *http.Client
	log        string // file that holds what the server says
}

// tokens are the callers' credentials.
type tokens struct {
	keda   string // reads everything
	team   string // reads some queues of one source, in one namespace
	people string // looks inside and signals
}

// newToken makes a token of the form that the server knows, and its digest.
func newToken(id string) (token, digest string) {
	token = "ldm_" + id + "_" + strings.Repeat("soak", 10)
	sum := sha256.Sum256([]byte(token))
	return token, hex.EncodeToString(sum[:])
}

// newStage starts everything. It goes when the test ends.
func newStage(t *testing.T) *stage {
	t.Helper()
	cluster := storagetest.StartCluster(t)
	s := &stage{grpc: storagetest.FreeAddress(t), http: storagetest.FreeAddress(t), database: cluster.Database(t), redis: storagetest.StartRedis(t)}
	s.river = storagetest.RiverPostgres(t, s.database)
	s.exec(t, "CREATE ROLE "+reader+" LOGIN IN ROLE pg_read_all_data")
	s.tokens.keda, _ = newToken("keda")
	s.tokens.team, _ = newToken("team")
	s.tokens.people, _ = newToken("people")
	dir := t.TempDir()
	s.config, s.log = filepath.Join(dir, "leadsman.yaml"), filepath.Join(dir, "log")
	if err := s.configure("first"); err != nil {
		t.Fatal(err)
	}
	s.start(t, binary(t))
	return s
}

// exec runs a statement as the database's owner.
func (s *stage) exec(t *testing.T, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// configure writes the configuration, with one token, called passing, that comes and goes.
func (s *stage) configure(passing string) error {
	database, err := url.Parse(s.database)
	if err != nil {
		return err
	}
	database.User = url.User(reader)
	grant := func(id string, scopes ...string) map[string]any {
		_, digest := newToken(id)
		return map[string]any{"id": id, "sha256": digest, "scopes": scopes}
	}
	team := grant("team", "read")
	team["sources"], team["queues"], team["namespaces"] = []string{riverSource}, []string{teamQueues}, []string{teamSpace}
	config, err := json.Marshal(map[string]any{ // JSON is YAML
		"grpc": map[string]any{"listen": s.grpc},
		"http": map[string]any{"listen": s.http, "auth": "token"},
		"log":  map[string]any{"level": "warn"},
		"sources": map[string]any{
			riverSource: map[string]any{"url": database.String(), "preset": "river"},
			asynqSource: map[string]any{"url": s.redis.URL(), "preset": "asynq"},
		},
		"tokens": []any{grant("keda", "read"), team, grant("people", "inspect", "signal"), grant(passing, "read")},
	})
	if err != nil {
		return err
	}
	next := s.config + ".next" // swapped in, as a mounted Secret is
	if err := os.WriteFile(next, config, 0o600); err != nil {
		return err
	}
	return os.Rename(next, s.config)
}

// binary is the server's program: the one of -soak.leadsman, or one that is built now as `make build` does.
func binary(t *testing.T) string {
	t.Helper()
	if *leadsman != "" {
		return *leadsman
	}
	program := filepath.Join(t.TempDir(), "leadsman")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", program, "../../cmd/leadsman")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, out)
	}
	return program
}

// start runs the server until the test ends, and returns when it serves.
func (s *stage) start(t *testing.T, program string) {
	t.Helper()
	log, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program, "serve", "--config", s.config)
	cmd.Dir, cmd.Stderr = filepath.Dir(s.log), log
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")} // nothing of the caller's may configure it
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { s.stop(t, ended) })
	conn := s.mustConnect(t)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	if _, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
		t.Fatalf("the server does not answer: %v\n%s", err, s.said())
	}
}

// stop ends the server and shows what it had to say.
func (s *stage) stop(t *testing.T, ended <-chan error) {
	t.Helper()
	_ = syscall.Kill(s.pid, syscall.SIGTERM) // fails if it is gone, which is told below
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the server ended with %v", err)
		}
	case <-time.After(startTimeout):
		_ = syscall.Kill(s.pid, syscall.SIGKILL)
		t.Errorf("the server did not end within %s: %v", startTimeout, <-ended)
	}
	if said := s.said(); said != "" {
		t.Logf("the end of the server's log:\n%s", said)
	}
}

// said is the end of what the server wrote to its log, but for the refusals, which the crews are after.
func (s *stage) said() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	lines := slices.DeleteFunc(slices.Collect(strings.Lines(string(text))), func(line string) bool {
		return strings.Contains(line, "request refused")
	})
	return strings.Join(lines[max(0, len(lines)-20):], "")
}

// mustConnect makes a connection.
func (s *stage) mustConnect(t *testing.T) *grpc.ClientConn {
	t.Helper()
	conn, err := s.connect()
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func (s *stage) connect() (*grpc.ClientConn, error) {
	return grpc.NewClient(s.grpc, grpc.WithTransportCredentials(insecure.NewCredentials()))
}
