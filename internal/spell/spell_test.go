package spell_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leadsman/leadsman/internal/spell"
)

func TestNearestFindsSlips(t *testing.T) {
	t.Parallel()
	keys := []string{"source", "queue", "metric", "target", "activation", "activeWhileRunning"}
	for word, want := range map[string]string{
		"souce": "source", "Queue": "queue", "queues": "queue", "metrik": "metric", "activewhilerunning": "activeWhileRunning",
		"xyz": "", "": "", "t": "",
	} {
		if got := spell.Nearest(word, keys); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestNearOrdersByDistanceThenByOrderGiven(t *testing.T) {
	t.Parallel()
	queues := []string{"mail-out-bulk", "mailout", "mail-in", "Mail-Out", "video"}
	want := []string{"Mail-Out", "mailout", "mail-in"}
	if diff := cmp.Diff(want, spell.Near("mail-out", queues, 3)); diff != "" {
		t.Errorf("Near (-want +got):\n%s", diff)
	}
}

func TestDistanceCountsEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"same", "same", 0}} {
		if got := spell.Distance(c.a, c.b); got != c.want {
			t.Errorf("Distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
