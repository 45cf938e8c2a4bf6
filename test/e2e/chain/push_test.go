package chain

import (
	"testing"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

func TestFirstJobStartsAWorkerAndABacklogMore(t *testing.T) {
	t.Parallel()
	app := rig.NewRiverApp(t)
	w := newWorker(t)
	w.scaled(install(t, app.Source()), spec{"target": 10})
	w.ready()
	w.becomes(0)

	app.Enqueue("mail", 1)
	w.becomes(1)
	app.Enqueue("mail", 69)
	w.becomes(7) // one for each ten
	app.Work("mail")
	w.becomes(0)
}
