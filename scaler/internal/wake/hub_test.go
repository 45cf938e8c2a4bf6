package wake_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leadsman/leadsman/scaler/internal/wake"
)

func newHub(t *testing.T) *wake.Hub {
	t.Helper()
	h := wake.New(wake.Defaults(), "src", "other")
	h.Start()
	t.Cleanup(h.Close)
	return h
}

// rung reports whether a signal has reached the Sub by now.
func rung(s *wake.Sub) bool {
	synctest.Wait()
	select {
	case <-s.C():
		s.Take()
		return true
	default:
		return false
	}
}

func TestFirstSignalArrivesAtOnceAndABurstIsCoalesced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		sub := h.Subscribe("src", []string{"mail"}, nil, nil)
		defer sub.Close()
		start := time.Now()
		h.Signal("src", "mail")
		if !rung(sub) || !time.Now().Equal(start) {
			t.Fatal("the first signal did not arrive at once")
		}
		rings := 0
		for range 1000 { // 100 ms of a signal each 100 µs
			h.Signal("src", "mail")
			time.Sleep(100 * time.Microsecond)
			if rung(sub) {
				rings++
			}
		}
		if rings < 3 || rings > 6 {
			t.Errorf("%d rings in 100 ms, want one each 20 ms", rings)
		}
		time.Sleep(20 * time.Millisecond)
		rung(sub)
		if rung(sub) {
			t.Error("a ring without a signal")
		}
	})
}

func TestSignalReachesThoseItConcerns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		named := h.Subscribe("src", []string{"mail", "video"}, nil, nil)
		glob := h.Subscribe("src", nil, func(q string) bool { return strings.HasPrefix(q, "mail") }, nil)
		foreign := h.Subscribe("other", []string{"mail"}, nil, nil)
		for _, c := range []struct {
			queue                string
			named, glob, foreign bool
		}{
			{"mail", true, true, false},
			{"mail-out", false, true, false},
			{"video", true, false, false},
			{"Mail", false, false, false},
			{"", true, true, false},
		} {
			time.Sleep(time.Second)
			h.Signal("src", c.queue)
			if n, g, f := rung(named), rung(glob), rung(foreign); n != c.named || g != c.glob || f != c.foreign {
				t.Errorf("signal %q reached named %v, glob %v, foreign %v, want %v, %v, %v", c.queue, n, g, f, c.named, c.glob, c.foreign)
			}
		}
		named.Close()
		glob.Close()
		foreign.Close()
		if open, armed := h.Subs("src"); open != 0 || armed != 0 {
			t.Errorf("%d open and %d armed after Close", open, armed)
		}
	})
}

func TestUnarmedSubHearsOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		sub := h.Subscribe("src", []string{"mail"}, nil, nil)
		defer sub.Close()
		sub.Arm(false)
		rings := 0
		for range 1000 { // 10 s
			h.Signal("src", "mail")
			time.Sleep(10 * time.Millisecond)
			if rung(sub) {
				rings++
			}
		}
		if rings < 8 || rings > 10 {
			t.Errorf("%d rings in 10 s, want one a second", rings)
		}
	})
}

func TestBusyQueueDoesNotHoldUpAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		busy, idle := h.Subscribe("src", []string{"busy"}, nil, nil), h.Subscribe("src", []string{"idle"}, nil, nil)
		defer busy.Close()
		defer idle.Close()
		busy.Arm(false)
		for range 100 {
			h.Signal("src", "busy")
			time.Sleep(time.Millisecond)
			start := time.Now()
			h.Signal("src", "idle")
			if !rung(idle) || !time.Now().Equal(start) {
				t.Fatal("the signal was held up")
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
}

// A stream that becomes inactive may just have missed the job that makes it active again.
func TestArmingRingsForWhatWasMissed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		sub := h.Subscribe("src", []string{"mail"}, nil, nil)
		defer sub.Close()
		sub.Arm(false)
		h.Signal("src", "mail")
		if rung(sub) {
			t.Fatal("an unarmed Sub was rung at once")
		}
		signalled := time.Now()
		time.Sleep(10 * time.Millisecond)
		sub.Arm(true)
		synctest.Wait()
		select {
		case <-sub.C():
		default:
			t.Fatal("arming did not ring")
		}
		if first, since := sub.Take(); !first.Equal(signalled) || since.Before(time.Now()) {
			t.Errorf("Take = %v, %v, want the signal's time %v and now", first, since, signalled)
		}
	})
}

func TestTakeCoversTheLastSignal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t)
		sub := h.Subscribe("src", []string{"mail"}, nil, nil)
		defer sub.Close()
		start := time.Now()
		for range 5 { // the reader is slow: five rounds before it takes
			h.Signal("src", "mail")
			time.Sleep(30 * time.Millisecond)
		}
		last := start.Add(4 * 30 * time.Millisecond)
		<-sub.C()
		if first, since := sub.Take(); !first.Equal(start) || since.Before(last) {
			t.Errorf("Take = %v, %v, want first %v and since not before %v", first, since, start, last)
		}
	})
}

func TestSignalNeverBlocksAndItsMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := wake.New(wake.Defaults(), "src") // nobody dispatches
		start := time.Now()
		for i := range 100_000 {
			h.Signal("src", fmt.Sprint("q", i))
		}
		if !time.Now().Equal(start) {
			t.Error("Signal blocked")
		}
		sub := h.Subscribe("src", []string{"q99999"}, nil, nil) // beyond the bound: all count as dirty
		h.Start()
		if !rung(sub) {
			t.Error("a signal was lost")
		}
		sub.Close()
		h.Close()
	})
}

func TestSignalOfAnUnknownSourceIsRefused(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	if h.Signal("nowhere", "mail") {
		t.Error("Signal took an unknown source")
	}
	if h.Subscribe("nowhere", nil, nil, nil) != nil {
		t.Error("Subscribe took an unknown source")
	}
}
