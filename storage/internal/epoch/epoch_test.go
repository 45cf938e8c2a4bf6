package epoch_test

import (
	"math"
	"testing"
	"time"

	"github.com/leadsman/leadsman/storage/internal/epoch"
)

func TestParseTellsTheUnitByTheSize(t *testing.T) {
	want := time.Unix(1_796_000_000, 0)
	for _, text := range []string{"1796000000", "1796000000.0", "1796000000000", "1796000000000000", "1796000000000000000"} {
		if got, ok := epoch.Parse(text); !ok || !got.Equal(want) {
			t.Errorf("Parse(%q) = %s, %t, want %s", text, got, ok, want)
		}
	}
	if got, ok := epoch.Parse("1796000000.25"); !ok || !got.Equal(want.Add(250*time.Millisecond)) {
		t.Errorf("a fraction of a second: %s, %t", got, ok)
	}
}

func TestWhatIsNoTimeIsNone(t *testing.T) {
	for _, text := range []string{"", "soon", "-1", "NaN", "Inf", "1e300", "1796000000000000000000000", "12 "} {
		if got, ok := epoch.Parse(text); ok {
			t.Errorf("Parse(%q) = %s", text, got)
		}
	}
	for _, score := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1), 1e11} {
		if got, ok := epoch.Time(score, time.Second); ok {
			t.Errorf("Time(%g s) = %s", score, got)
		}
	}
}

func TestTimesAreReadInTheirUnit(t *testing.T) {
	for score, want := range map[float64]time.Time{
		1_796_000_000_123: time.UnixMilli(1_796_000_000_123),
		0:                 time.Unix(0, 0),
		999:               time.UnixMilli(999),
	} {
		if got, ok := epoch.Time(score, time.Millisecond); !ok || !got.Equal(want) {
			t.Errorf("Time(%g ms) = %s, %t, want %s", score, got, ok, want)
		}
	}
	if got, ok := epoch.Time(1_796_000_000.5, time.Second); !ok || !got.Equal(time.UnixMilli(1_796_000_000_500)) {
		t.Errorf("half a second: %s, %t", got, ok)
	}
}

func TestBoundsAreRoundedDown(t *testing.T) {
	at := time.UnixMilli(1_796_000_000_999).Add(999 * time.Microsecond)
	if got := epoch.Seconds(at); got != "1796000000" {
		t.Errorf("Seconds = %s", got)
	}
	if got := epoch.Millis(at); got != "1796000000999" {
		t.Errorf("Millis = %s", got)
	}
}
