package e2e

import (
	"strconv"
	"testing"
	"time"
)

// A stream that ends well has KEDA back after 2 s, and what came meanwhile is the first thing it hears. An error
// would have it wait twice as long each time.
func TestPushClientIsBackSoonAfterARestart(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	s := serve(t, a.source())
	p := externalPush(t, s, trigger{metadata: metadata{"queue": "mail"}})
	p.opens()
	p.becomes(0)
	for range 3 { // the third time KEDA would wait 8 s, if the ends before had been errors
		s.stop()
		a.enqueue("mail", 1)
		p.wokenBy(s.start, 10*time.Second)
		a.work("mail")
		p.becomes(0)
		p.forget()
	}
	if errs := streamErrors(p.object); len(errs) > 0 {
		t.Errorf("streams ended with errors, which do not reset KEDA's backoff: %q", errs)
	}
}

func TestSIGTERMEndsOpenStreamsAndTheServerInOrder(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.enqueue("busy", 5)
	s := serve(t, a.source())
	var open []*pushScaler
	for i := range 20 { // half of them active
		queue := []string{"idle", "busy"}[i%2]
		p := externalPush(t, s, trigger{object: strconv.Itoa(i), metadata: metadata{"queue": queue}})
		p.opens()
		open = append(open, p)
	}
	if took := s.stop(); took > 5*time.Second {
		t.Errorf("the end took %v: streams were waited for", took)
	}
	for _, p := range open {
		if errs := streamErrors(p.object); len(errs) > 0 {
			t.Errorf("streams ended with errors: %q", errs)
		}
	}
}
