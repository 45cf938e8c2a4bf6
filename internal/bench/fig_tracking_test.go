package main

import (
	"math"
	"testing"
)

func TestPairedRunsTellWhatIsLookedForFromWhatServersDifferIn(t *testing.T) {
	const runs = 40
	for _, effect := range []float64{1, 0.9} {
		var ours, beside []float64
		for i := range runs {
			server, first := 1.2, 1.1 // the faster server, and what comes first, are ours in the one half
			if i >= runs/2 {
				server = 1 / server
			}
			if i%2 == 1 {
				first = 1 / first
			}
			ours = append(ours, 1000*effect*server*first)
			beside = append(beside, 1000)
		}
		if got := paired(ours, beside); math.Abs(got-effect) > 1e-9 {
			t.Errorf("paired = %v, want %v", got, effect)
		}
	}
}
