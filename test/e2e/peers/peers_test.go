package peers

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/storagetest"
	"github.com/leadsman/leadsman/test/e2e/peers/report"
)

// fullRun is how long it takes, generously.
const fullRun = 45 * time.Minute

func TestPeers(t *testing.T) {
	if end, bounded := t.Deadline(); bounded && !*quick && time.Until(end) < fullRun {
		t.Fatal("measuring it all takes longer than the test may: run `make bench-peers`, or add -peers.quick")
	}
	postgres := storagetest.StartCluster(t,
		storagetest.Setting("shared_preload_libraries", "pg_stat_statements"), storagetest.Setting("shared_buffers", "128MB"),
		// By default there may be 100, and KEDA's own triggers take one for each ScaledObject.
		storagetest.Setting("max_connections", "1000"))
	r := &report.Report{Head: describe(t, postgres)}
	t.Run("race", func(t *testing.T) { measureRace(t, postgres, r) })
	t.Run("idle", func(t *testing.T) { measureIdle(t, postgres, r) })
	write(t, r)
}

// write shows what there is, also if not everything could be measured.
func write(t *testing.T, r *report.Report) {
	t.Helper()
	tables := r.Markdown()
	t.Log("\n\n" + tables)
	if *markdown != "" {
		if err := os.WriteFile(*markdown, []byte(tables), 0o644); err != nil {
			t.Error(err)
		}
	}
	if *plot != "" && len(r.Wakes) > 0 {
		var svg bytes.Buffer
		if err := r.Plot(&svg); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(*plot, svg.Bytes(), 0o644); err != nil {
			t.Error(err)
		}
	}
}
