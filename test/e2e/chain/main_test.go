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
		// The cluster's programs are waited for, those too that a test has started again.
		waits := goleak.IgnoreAnyFunction("github.com/leadsman/leadsman/test/e2e/cluster.(*program).start.func1")
		// Its client connects anew where a connection was lost.
		connects := goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run")
		return storagetest.Main(m, goleak.IgnoreCurrent(), waits, connects)
	}))
}
