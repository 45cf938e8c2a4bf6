package wake_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leadsman/leadsman/scaler/internal/wake"
)

func TestReachCountsThoseThatASignalConcerns(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	mail := h.Subscribe("src", []string{"mail"}, nil, nil)
	glob := h.Subscribe("src", nil, func(q string) bool { return strings.HasPrefix(q, "mail") }, nil)
	video := h.Subscribe("src", []string{"video"}, nil, nil)
	defer mail.Close()
	defer glob.Close()
	defer video.Close()
	glob.Arm(false)
	for queue, want := range map[string][2]int{"mail": {2, 1}, "mail-out": {1, 0}, "video": {1, 1}, "none": {0, 0}, "": {3, 2}} {
		if told, armed := h.Reach("src", queue); told != want[0] || armed != want[1] {
			t.Errorf("a signal of %q reaches %d, %d of them armed, want %v", queue, told, armed, want)
		}
	}
	if told, armed := h.Reach("nowhere", ""); told != 0 || armed != 0 {
		t.Errorf("an unknown source has %d, %d", told, armed)
	}
}

func TestHeldTellsOfSignalsThatNobodyPassesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := wake.New(wake.Defaults(), "src") // nobody dispatches yet
		if held := h.Held("src"); held != 0 {
			t.Errorf("held for %v before any signal", held)
		}
		h.Signal("src", "mail")
		time.Sleep(time.Minute)
		h.Signal("src", "video")
		if held := h.Held("src"); held != time.Minute {
			t.Errorf("held for %v, want a minute", held)
		}
		h.Start()
		synctest.Wait()
		if held := h.Held("src"); held != 0 {
			t.Errorf("held for %v after the dispatch", held)
		}
		h.Close()
	})
}
