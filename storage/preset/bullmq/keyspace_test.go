package bullmq_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage/driver"
	"github.com/leadsman/leadsman/storage/preset/bullmq"
	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/storage/storagetest/redistest"
)

// Case 34.
func TestAMillionKeysMakeAReadSendNothingMore(t *testing.T) {
	server := storagetest.StartRedis(t, storagetest.WithConfig("enable-debug-command", "yes"))
	f := newFixture(t, server, 6)
	f.Insert("q", 10)
	f.Run("q", 1)
	before := sent(t, server)
	server.Do(t, "DEBUG", "POPULATE", "1000000", "bull:q", "10") // bull:q:0 and on, as jobs are
	if n, err := server.Do(t, "DBSIZE").AsInt64(); err != nil || n < 1_000_000 {
		t.Fatalf("%d keys, %v", n, err)
	}
	after := sent(t, server)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("-before +after a million keys:\n%s", diff)
	}
	for _, slow := range []string{"keys", "scan", "type", "eval", "evalsha", "sort", "zrange", "hgetall"} {
		if _, used := after[slow]; used {
			t.Errorf("a read sends %s", slow)
		}
	}
}

// calls is a line of INFO commandstats: cmdstat_llen:calls=2,usec=… and more.
var calls = regexp.MustCompile(`(?m)^cmdstat_([^:]+):calls=(\d+)`)

// sent is how many of each command ten reads send.
func sent(t *testing.T, server *storagetest.RedisServer) map[string]string {
	t.Helper()
	engine := redistest.Open(t, bullmq.Preset.Redis, driver.RedisOptions{}, server.URL())
	redistest.Read(t, engine, driver.Want{Queue: "q"}) // connects
	server.Do(t, "CONFIG", "RESETSTAT")
	for range 10 {
		redistest.Read(t, engine, driver.Want{Queue: "q"})
	}
	stats, err := server.Do(t, "INFO", "commandstats").ToString()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, line := range calls.FindAllStringSubmatch(strings.ReplaceAll(stats, "\r", ""), -1) {
		// The test's own, and the engine's after a silence.
		if !strings.HasPrefix(line[1], "config") && line[1] != "ping" {
			out[line[1]] = fmt.Sprint(line[2], " calls")
		}
	}
	if out["llen"] == "" {
		t.Fatalf("no LLEN in %q", stats)
	}
	return out
}
