package scaler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func observed(ready, running int64) *decision {
	return &decision{totals: totals{ready: ready, running: running}, active: ready+running > 0}
}

// beats runs a pulse over a timeline: at each second it is shown what at returns. It gives the seconds of each true.
func beats(seconds int, at func(second int) *decision) []int {
	var p pulse
	var sent []int
	start := time.Now()
	for i := range seconds {
		if p.observe(start.Add(time.Duration(i)*time.Second), at(i)) {
			sent = append(sent, i)
		}
	}
	return sent
}

func TestPulse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   func(int) *decision
		want []int
	}{
		"an empty queue says nothing": {
			at: func(int) *decision { return observed(0, 0) },
		},
		"open with work says true, and again ever more slowly while nobody is at it": { // case 9
			at:   func(int) *decision { return observed(1, 0) },
			want: []int{0, 2, 5, 35, 65, 95},
		},
		"work that is being done is not repeated": {
			at:   func(int) *decision { return observed(5, 1) },
			want: []int{0},
		},
		"running alone keeps the stream active without repeats": { // case 30
			at:   func(int) *decision { return observed(0, 1) },
			want: []int{0},
		},
		"each edge says true once": {
			at:   func(i int) *decision { return observed(0, int64(i/10%2)) },
			want: []int{10, 30, 50, 70, 90},
		},
		"no true is left over once the queue is empty": { // case 10
			at: func(i int) *decision {
				if i < 90 {
					return observed(3, 0)
				}
				return observed(0, 0)
			},
			want: []int{0, 2, 5, 35, 65},
		},
		"workers that vanish start the repeats afresh": {
			at: func(i int) *decision {
				if i < 40 {
					return observed(2, 1)
				}
				return observed(2, 0)
			},
			want: []int{0, 42, 45, 75},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, beats(100, c.at)); diff != "" {
				t.Errorf("seconds of each true (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPulseAsksToLookAgainWhenARepeatIsDue(t *testing.T) {
	t.Parallel()
	var p pulse
	now := time.Now()
	if _, ok := p.wait(now); ok {
		t.Error("a look is due before anything was seen")
	}
	p.observe(now, observed(1, 0))
	if d, ok := p.wait(now.Add(time.Second)); !ok || d != time.Second {
		t.Errorf("wait = %v, %v, want 1s", d, ok)
	}
	p.observe(now, observed(0, 0))
	if _, ok := p.wait(now); ok {
		t.Error("a look is due on an empty queue")
	}
}
