package chain

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/cluster"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// kube is the cluster that all tests share.
var kube *cluster.Cluster

func TestMain(m *testing.M) {
	logs := flag.String("logs", "", "folder that keeps what the cluster's programs write; \"\" for none")
	flag.Parse()
	os.Exit(cluster.Main(*logs, func(c *cluster.Cluster) int {
		kube = c
		defer rig.Remove()
		return storagetest.Main(m, goleak.IgnoreCurrent())
	}))
}
