//go:build unix

package storagetest

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// shared is the cluster that Postgres makes databases in: one per test process, started by the first caller.
var shared struct {
	sync.Mutex

	cluster *Cluster
	err     error // why it could not be started; every later caller fails with it too
}

// Postgres returns the URL of a fresh, empty database that is dropped when the test ends. The server is a
// throwaway PostgreSQL on loopback that the process starts once. [Main] stops it; without Main it goes when
// the process does, however that dies.
func Postgres(tb testing.TB) string {
	tb.Helper()
	c, err := sharedCluster()
	if err != nil {
		tb.Fatal(err)
	}
	return c.Database(tb)
}

func sharedCluster() (*Cluster, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil && shared.err == nil {
		shared.cluster, shared.err = newCluster()
	}
	return shared.cluster, shared.err
}

// Main runs a package's tests, stops the shared cluster and producers and, when all passed, fails if goroutines are left.
// It returns the exit code:
//
//	func TestMain(m *testing.M) { os.Exit(storagetest.Main(m)) }
func Main(m *testing.M, opts ...goleak.Option) int {
	code := m.Run()
	if err := stopProducers(); err != nil && code == 0 {
		fmt.Fprintf(os.Stderr, "the tests passed, but not all programs of theirs ended well: %v\n", err)
		code = 1
	}
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster != nil {
		shared.cluster.remove()
		shared.cluster = nil
	}
	if code != 0 {
		return code
	}
	if err := goleak.Find(append(opts, ClusterLeftovers()...)...); err != nil {
		fmt.Fprintf(os.Stderr, "the tests passed, but goroutines are left: %v\n", err)
		return 1
	}
	return 0
}
