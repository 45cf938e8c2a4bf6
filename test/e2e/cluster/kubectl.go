package cluster

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Kubectl runs kubectl with stdin, nil for none, and returns what it writes to standard output. An error fails the test. It may
// be called in a Cleanup.
func (c *Cluster) Kubectl(tb testing.TB, stdin io.Reader, args ...string) string {
	tb.Helper()
	cmd := exec.Command(filepath.Join(c.programs, "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	cmd.Stdin, cmd.Stderr = stdin, tb.Output()
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("kubectl %v: %v", args, err)
	}
	return string(out)
}
