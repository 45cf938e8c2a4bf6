package faults

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

var (
	tableFile = flag.String("faults.table", "", "write the table of all faults to this file, as Markdown")
	within    = flag.Duration("faults.within", 20*time.Second,
		"how long after the end of a fault a job may take to wake its worker; the promise is 1s, on a machine with time to spare")
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	defer rig.Remove()
	rig.LogKEDA(testing.Verbose())
	for name, value := range map[string]string{
		"test.parallel": "6",     // a fault is mostly waited for: more of them fit beside each other than there are processors
		"rapid.checks":  "10000", // the model's time is up before
	} {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	const proxy = "github.com/Shopify/toxiproxy/v2"
	code := storagetest.Main(m, goleak.IgnoreCurrent(),
		// A connection that ends while a toxic comes or goes leaves these behind.
		goleak.IgnoreAnyFunction(proxy+"/toxics.(*ToxicStub).Run"),
		goleak.IgnoreAnyFunction(proxy+".(*ToxicLink).read"), goleak.IgnoreAnyFunction(proxy+".(*ToxicLink).write"),
		// The client of the application notices only a second later that it was closed while its server was away.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
	if err := told.write(*tableFile); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
