package peers

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/cluster"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// The command line.
var (
	quick    = flag.Bool("peers.quick", false, "see within two minutes that everything works; the figures mean little")
	markdown = flag.String("peers.markdown", "", "write the tables to this file too")
	plot     = flag.String("peers.plot", "", "draw the times from a job to a replica into this file, as SVG")
)

// kube is the cluster.
var kube *cluster.Cluster

func TestMain(m *testing.M) {
	logs := flag.String("logs", "", "folder that keeps what the cluster's programs write; \"\" for none")
	flag.Parse()
	os.Exit(cluster.Main(*logs, func(c *cluster.Cluster) int {
		kube = c
		defer rig.Remove()
		rig.LogKEDA(false)
		// The cluster's programs are waited for, the operator that was started again too.
		waits := goleak.IgnoreAnyFunction("github.com/leadsman/leadsman/test/e2e/cluster.(*program).start.func1")
		return storagetest.Main(m, goleak.IgnoreCurrent(), waits)
	}))
}

// pick returns small in a smoke test and full otherwise.
func pick[T any](full, small T) T {
	if *quick {
		return small
	}
	return full
}
