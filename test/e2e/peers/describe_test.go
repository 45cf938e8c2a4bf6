package peers

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/procfs"
	"k8s.io/client-go/discovery"

	"github.com/leadsman/leadsman/storage/storagetest"
)

// describe says on what the figures are measured, and how.
func describe(t *testing.T, postgres *storagetest.Cluster) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), postgres.SuperuserURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "CREATE EXTENSION pg_stat_statements"); err != nil {
		t.Fatal(err)
	}
	var postgresVersion string
	if err := conn.QueryRow(t.Context(), "SHOW server_version").Scan(&postgresVersion); err != nil {
		t.Fatal(err)
	}
	ask, err := discovery.NewDiscoveryClientForConfig(kube.Config)
	if err != nil {
		t.Fatal(err)
	}
	kubernetes, err := ask.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	keda := output(t, "go", "list", "-m", "-f", "{{.Version}}", "github.com/kedacore/keda/v2")
	_, redis, _ := strings.Cut(output(t, "redis-server", "--version"), "v=")
	versions := fmt.Sprintf("%s, %s/%s, %s, Kubernetes %s, KEDA %s, PostgreSQL %s, Redis %s.",
		machine(t), runtime.GOOS, runtime.GOARCH, runtime.Version(), kubernetes.GitVersion, keda, word(postgresVersion), word(redis))
	return []string{versions, pick("Measured by `make bench-peers`.", "A smoke test: the figures mean little.")}
}

// machine is the processor, and what else was going on.
func machine(t *testing.T) string {
	t.Helper()
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		t.Fatal(err)
	}
	processors, err := proc.CPUInfo()
	if err != nil || len(processors) == 0 {
		t.Fatalf("the system does not tell its processors: %v", err)
	}
	load, err := proc.LoadAvg()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s, %d cores, load %.1f before the start", processors[0].ModelName, len(processors), load.Load1)
}

func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	return strings.TrimSpace(string(out))
}

// word is the first one.
func word(text string) string {
	first, _, _ := strings.Cut(text, " ")
	return first
}
