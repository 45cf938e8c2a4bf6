package report

import (
	"fmt"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat"
)

// A Report is all that one run has found.
type Report struct {
	Head  []string // on what was measured, and by which command: a sentence each
	Goals []Goal
	Wakes []Way // to spec.replicas = 1; the first is the floor, and the others are set beside it
	Parts []Way // to the true at KEDA's client, which is a part of the above
	Idle  []Idle
}

// A Goal is what a ratio should be. One that falls short is shown as it is.
type Goal struct {
	What     string // what of whom over what of whom
	Of, Over float64
	Limit    float64
	AtLeast  bool // the ratio should not be below Limit; otherwise, not above
}

func (g Goal) target() string {
	if g.AtLeast {
		return fmt.Sprintf("≥ %g×", g.Limit)
	}
	return fmt.Sprintf("≤ %g×", g.Limit)
}

func (g Goal) verdict() string {
	switch ratio := g.Of / g.Over; {
	case g.AtLeast && ratio >= g.Limit, !g.AtLeast && ratio <= g.Limit:
		return "ok"
	default: // nothing over nothing too
		return "short"
	}
}

// A Way is one that leads from a job to a worker.
type Way struct {
	Name string
	Took []time.Duration // of each job
	Kind Kind
}

// A Kind of way has a colour of its own in the plot.
type Kind int

// Kinds.
const (
	Floor Kind = iota
	Ours
	Peer
)

// Median returns what half of the jobs did not exceed, in seconds.
func (w *Way) Median() float64 { return w.quantile(0.5) }

// quantile returns the smallest of the times, in seconds, that the given share of all did not exceed; 0 without any.
func (w *Way) quantile(share float64) float64 {
	if len(w.Took) == 0 {
		return 0
	}
	seconds := make([]float64, len(w.Took))
	for i, d := range w.Took {
		seconds[i] = d.Seconds()
	}
	slices.Sort(seconds)
	return stat.Quantile(share, stat.Empirical, seconds, nil)
}

// Idle is what a number of ScaledObjects cost while no job comes.
type Idle struct {
	Name        string // of the trigger
	Objects     int
	Connections int           // to the database
	Statements  float64       // per second, at the database
	Database    float64       // share of a core that all processes of the database took
	Operator    float64       // likewise KEDA's operator
	Scaler      float64       // likewise all replicas of leadsman; 0 where there is none
	Ready       time.Duration // from the creation of the first until all were ready and polled
}

// took shows seconds.
func took(seconds float64) string {
	switch {
	case seconds < 0.01:
		return fmt.Sprintf("%.2f ms", seconds*1e3)
	case seconds < 0.1:
		return fmt.Sprintf("%.1f ms", seconds*1e3)
	case seconds < 1:
		return fmt.Sprintf("%.0f ms", seconds*1e3)
	default:
		return fmt.Sprintf("%.1f s", seconds)
	}
}

// times shows a ratio; "" for that to nothing.
func times(x, base float64) string {
	switch ratio := x / base; {
	case base == 0:
		return ""
	case ratio < 10:
		return fmt.Sprintf("%.2f×", ratio)
	default:
		return fmt.Sprintf("%.0f×", ratio)
	}
}

func percent(share float64) string { return fmt.Sprintf("%.2f %%", share*100) }
