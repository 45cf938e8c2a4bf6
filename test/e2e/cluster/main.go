package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Main is what a TestMain does to have a cluster: it builds what is to be built, enters namespaces of its own, starts a
// cluster, runs, and stops it. It returns the exit code. The folder logs, if it is not "", keeps what the cluster's programs write.
func Main(logs string, run func(*Cluster) int) int {
	code, err := mainCode(logs, run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		return max(1, code)
	}
	return code
}

func mainCode(logs string, run func(*Cluster) int) (code int, err error) {
	began := time.Now()
	programs := os.Getenv(inside)
	if programs == "" {
		if programs, err = build(); err != nil {
			return 1, err
		}
		progress("built within %s", time.Since(began))
		return enter(programs)
	}
	dir, err := os.MkdirTemp("", "leadsman-cluster-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := furnish(dir); err != nil {
		return 1, err
	}
	if logs == "" {
		logs = filepath.Join(dir, "logs")
	}
	c, err := start(dir, logs, programs)
	if err != nil {
		return 1, err
	}
	progress("KEDA works in it after %s", time.Since(began))
	defer func() {
		if end := c.stop(); err == nil {
			err = end
		}
	}()
	return run(c), nil
}

func progress(format string, took time.Duration) {
	fmt.Fprintf(os.Stderr, "cluster: "+format+"\n", took.Round(100*time.Millisecond))
}
