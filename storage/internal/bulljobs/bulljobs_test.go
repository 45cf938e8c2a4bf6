package bulljobs_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/internal/bulljobs"
)

// The highest of the scores that the libraries give to jobs of one millisecond is that millisecond's, and no more.
func TestAJobIsDueInItsMillisecond(t *testing.T) {
	for _, at := range []time.Time{time.UnixMilli(1_796_000_000_123), time.UnixMilli(0), time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC)} {
		highest, err := strconv.ParseFloat(bulljobs.Due(at.Add(999*time.Microsecond)), 64)
		if err != nil {
			t.Fatal(err)
		}
		for score, want := range map[float64]time.Time{highest - 4095: at, highest: at, highest + 1: at.Add(time.Millisecond)} {
			if got, ok := bulljobs.DueAt(score); !ok || got.Sub(want).Abs() > 10*time.Microsecond {
				t.Errorf("the job of score %.0f is due at %s, %t, want %s", score, got, ok, want)
			}
		}
	}
}

func TestAScoreThatIsNoTimeIsNone(t *testing.T) {
	for _, score := range []float64{-1, math.Inf(1), math.Inf(-1), math.NaN(), 1e300, 1e11 * 1000 * 4096} {
		if got, ok := bulljobs.DueAt(score); ok {
			t.Errorf("the job of score %g is due at %s", score, got)
		}
	}
}

func TestGlobsStandForThemselves(t *testing.T) {
	if got, want := bulljobs.Glob(`a*b?[c]\d`), `a\*b\?\[c\]\\d`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
