package scaler

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/storage"
	"github.com/leadsman/leadsman/storage/memory"
)

// A loop that has come round and does not any more is what a liveness probe is for. Here nothing runs at all: Run was
// never called.
func TestLoopsThatStandStillAreNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, err := storage.New("jobs", memory.New())
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Options{Sources: []Source{{Source: src}}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		stalled := func(want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, s.Stalled()); diff != "" {
				t.Errorf("stalled (-want +got):\n%s", diff)
			}
		}
		time.Sleep(time.Hour)
		stalled() // nothing has begun
		s.order[0].noteBeat()
		s.Signal("jobs", "mail")
		stalled()
		time.Sleep(29 * time.Second)
		stalled()
		time.Sleep(2 * time.Second)
		stalled("the signals of source jobs", "the watch over source jobs")
	})
}

// While the loops run, the beat goes on, whether anything happens or not.
func TestTheWatchOverASourceBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src, err := storage.New("jobs", memory.New())
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(Options{Sources: []Source{{Source: src}}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.order[0].watch(ctx)
		}()
		time.Sleep(time.Hour)
		if age := time.Since(s.order[0].lastBeat()); age > edgePollEvery {
			t.Errorf("the last beat was %v ago", age)
		}
		cancel()
		<-ended
	})
}
