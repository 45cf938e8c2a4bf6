package chain

import (
	"testing"

	"github.com/leadsman/leadsman/test/e2e/cluster"
	"github.com/leadsman/leadsman/test/e2e/rig"
)

// In which order a ScaledObject and leadsman come into a cluster makes no difference in the end.
func TestScaledObjectFromBeforeLeadsmanBecomesReadyAndWakes(t *testing.T) {
	t.Parallel()
	app := rig.NewRiverApp(t)
	r := prepare(t, cluster.NewRelease(int(installed.Add(1))), app.Source())
	w := newWorker(t)
	w.scaled(r, spec{"poll": never})
	w.shows("READY", "False")
	w.tells("Message:", "no metric specs returned from scalers")

	for _, replica := range r.replicas {
		replica.Start()
	}
	w.ready()
	app.Enqueue("mail", 1)
	w.becomes(1)
}
