package e2e

import (
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/test/e2e/rig"
)

// A stream that ends well has KEDA back after 2 s, and what came meanwhile is the first thing it hears. An error
// would have it wait twice as long each time.
func TestPushClientIsBackSoonAfterARestart(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	s := rig.Serve(t, a.Source())
	p := rig.ExternalPush(t, s, rig.Trigger{Metadata: rig.Metadata{"queue": "mail"}})
	p.Opens()
	p.Becomes(0)
	for range 3 { // the third time KEDA would wait 8 s, if the ends before had been errors
		s.Stop()
		a.Enqueue("mail", 1)
		p.WokenBy(s.Start, 10*time.Second)
		a.Work("mail")
		p.Becomes(0)
		p.Forget()
	}
	if errs := rig.StreamErrors(p.Object); len(errs) > 0 {
		t.Errorf("streams ended with errors, which do not reset KEDA's backoff: %q", errs)
	}
}

func TestSIGTERMEndsOpenStreamsAndTheServerInOrder(t *testing.T) {
	t.Parallel()
	a := rig.NewRiverApp(t)
	a.Enqueue("busy", 5)
	s := rig.Serve(t, a.Source())
	var open []*rig.PushScaler
	for i := range 20 { // half of them active
		queue := []string{"idle", "busy"}[i%2]
		p := rig.ExternalPush(t, s, rig.Trigger{Object: strconv.Itoa(i), Metadata: rig.Metadata{"queue": queue}})
		p.Opens()
		open = append(open, p)
	}
	if took := s.Stop(); took > 5*time.Second {
		t.Errorf("the end took %v: streams were waited for", took)
	}
	for _, p := range open {
		if errs := rig.StreamErrors(p.Object); len(errs) > 0 {
			t.Errorf("streams ended with errors: %q", errs)
		}
	}
}
