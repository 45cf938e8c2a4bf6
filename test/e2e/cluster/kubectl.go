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
	cmd := c.Command("kubectl", args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig)
	cmd.Stdin, cmd.Stderr = stdin, tb.Output()
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("kubectl %v: %v", args, err)
	}
	return string(out)
}

// Command makes a command of a program that is built with those of the cluster: kubectl, prometheus.
func (c *Cluster) Command(program string, args ...string) *exec.Cmd {
	return exec.Command(filepath.Join(c.programs, program), args...)
}
