package wake_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leadsman/leadsman/scaler/internal/wake"
)

// A looker takes its time to look, and keeps since when.
type looker struct {
	takes time.Duration
	looks *atomic.Int64
	since *atomic.Pointer[time.Time]
}

// Look implements wake.Looker.
func (l looker) Look(since time.Time) {
	l.looks.Add(1)
	l.since.Store(&since)
	time.Sleep(l.takes)
}

func newLooker(takes time.Duration) looker {
	return looker{takes: takes, looks: &atomic.Int64{}, since: &atomic.Pointer[time.Time]{}}
}

// subscribe opens n subscriptions of a queue, until the test ends.
func subscribe(t *testing.T, h *wake.Hub, n int, queue string, look wake.Looker) []*wake.Sub {
	t.Helper()
	subs := make([]*wake.Sub, n)
	for i := range subs {
		subs[i] = h.Subscribe("src", []string{queue}, nil, look)
		t.Cleanup(subs[i].Close)
	}
	return subs
}

func rungOf(subs []*wake.Sub) (n int) {
	for _, sub := range subs {
		if rung(sub) {
			n++
		}
	}
	return n
}

func TestOneOfACrowdLooksBeforeAllAreRung(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		look := newLooker(5 * time.Millisecond)
		crowd, single := subscribe(t, h, 1000, "mail", look), subscribe(t, h, 1, "video", look)
		signalled := time.Now()
		h.Signal("src", "mail")
		h.Signal("src", "video")
		if !rung(single[0]) {
			t.Error("the queue of one waits for that of many")
		}
		if n := rungOf(crowd); n != 0 {
			t.Errorf("%d are rung before anybody has looked", n)
		}
		time.Sleep(5 * time.Millisecond)
		if n := rungOf(crowd); n != len(crowd) {
			t.Errorf("%d of %d are rung", n, len(crowd))
		}
		if n := look.looks.Load(); n != 1 {
			t.Errorf("%d have looked, want one", n)
		}
		if since := *look.since.Load(); since.Before(signalled) {
			t.Errorf("what was read may be from %s before the signal", signalled.Sub(since))
		}
	})
}

func TestASignalWhileSomebodyLooksIsNotLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		look := newLooker(500 * time.Millisecond)
		crowd := subscribe(t, h, 100, "mail", look)
		h.Signal("src", "mail")
		time.Sleep(100 * time.Millisecond)
		h.Signal("src", "mail") // after the read has begun
		time.Sleep(time.Second)
		if n := rungOf(crowd); n != len(crowd) {
			t.Errorf("%d of %d are rung", n, len(crowd))
		}
		if n := look.looks.Load(); n != 2 {
			t.Errorf("%d looks, want one for each signal", n)
		}
	})
}

func TestCrowdsLookAtTheSameTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		look := newLooker(time.Second)
		mail, video := subscribe(t, h, 100, "mail", look), subscribe(t, h, 100, "video", look)
		h.Signal("src", "") // any queue
		time.Sleep(time.Second)
		if n := rungOf(mail) + rungOf(video); n != 200 {
			t.Errorf("%d of 200 are rung after the time of one look", n)
		}
		if n := look.looks.Load(); n != 2 {
			t.Errorf("%d have looked, want one for each queue", n)
		}
	})
}

// Who is active waits for nothing, and whoever cannot look is told all the same.
func TestNobodyLooksForThoseWhoDoNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		look := newLooker(time.Hour)
		active := subscribe(t, h, 100, "mail", look)
		for _, sub := range active[1:] {
			sub.Arm(false)
		}
		blind := subscribe(t, h, 100, "video", nil)
		h.Signal("src", "mail")
		h.Signal("src", "video")
		if !rung(active[0]) {
			t.Error("the one that waits is not rung")
		}
		if n := rungOf(blind); n != len(blind) {
			t.Errorf("%d of %d are rung without a look", n, len(blind))
		}
		if n := look.looks.Load(); n != 0 {
			t.Errorf("%d have looked", n)
		}
	})
}
