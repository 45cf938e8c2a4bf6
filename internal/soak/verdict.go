// Package soak runs the built server for minutes or hours under everything that comes and goes in a cluster, and says
// whether what it takes stays flat.
//
// The test of this package is the soak: it starts PostgreSQL with River and Redis with Asynq, the server over both, and
// crews that churn (churn_test.go, objects_test.go, jobs_test.go, people_test.go). A gauge reads at even intervals what
// the server takes (gauge_test.go). In the end the last quarter is held against the second (verdict.go), the first being
// the time in which what is bounded fills, and once all clients are gone the server must be as it was before they came.
//
//	go test ./internal/soak -run TestSoak -v -timeout 0 -soak.for 1h -soak.plot soak.svg
//
// Without -soak.for it is a smoke test of some seconds, too short to judge by.
package soak

import (
	"fmt"
	"slices"
	"time"
)

// A Series is something that was measured at even intervals.
type Series struct {
	Name   string
	Unit   Unit
	Bound  Bound
	Values []float64
}

// A Unit says how values are shown.
type Unit int

// The units.
const (
	Count Unit = iota
	Bytes      // shown in MiB
)

// Show writes a value with its unit.
func (u Unit) Show(v float64) string {
	if u == Bytes {
		return fmt.Sprintf("%.1f MiB", v/(1<<20))
	}
	return fmt.Sprintf("%.0f", v)
}

// A Bound is how much the late median may be: Ratio times the early one, and Slack more.
type Bound struct {
	Ratio float64
	Slack float64 // in the unit of the values
}

func (b Bound) allows(early, late float64) bool { return late <= early*b.Ratio+b.Slack }

// A Verdict says whether a series is flat.
type Verdict struct {
	Series  *Series
	Early   float64 // median of the second quarter
	Late    float64 // median of the last
	PerHour float64 // growth between the middles of the two
	Flat    bool
}

// leastPerQuarter is how many values a median needs that is to mean something.
const leastPerQuarter = 8

// Judge compares the second quarter of each series with its last. lasted is the time that the series span. The error
// says that there are too few values to judge by.
func Judge(all []Series, lasted time.Duration) ([]Verdict, error) {
	verdicts := make([]Verdict, len(all))
	for i := range all {
		s := &all[i]
		n := len(s.Values)
		if n/4 < leastPerQuarter {
			return nil, fmt.Errorf("%s: %d values are too few to judge by; soak for longer, or measure more often", s.Name, n)
		}
		early, late := median(s.Values[n/4:n/2]), median(s.Values[n-n/4:])
		verdicts[i] = Verdict{
			Series: s, Early: early, Late: late, Flat: s.Bound.allows(early, late),
			PerHour: (late - early) / (lasted.Hours() / 2),
		}
	}
	return verdicts, nil
}

// median returns the lower one of a series of even length. It sorts a copy.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}
