package main

import (
	"fmt"
	"time"
)

// A figure is something to be measured.
type figure struct {
	name    string // for -run
	measure func(*bed) []row
}

// figures are all of them, in the order of the table.
var figures = []figure{
	{"wake-postgres", measureWakePostgres},
	{"wake-sqlite", measureWakeSQLite},
	{"wake-redis", measureWakeRedis},
	{"tracking", measureTracking},
	{"calls", measureCalls},
	{"load", measureLoad},
	{"shared", measureShared},
	{"crowd", measureCrowd},
	{"statements", measureStatements},
	{"sample", measureSample},
	{"insert", measureInsert},
	{"streams", measureStreams},
	{"idle", measureIdle},
	{"start", measureStart},
}

// A row is one line of the table: a figure beside its limit.
type row struct {
	what        string
	ours, limit quantity
	against     string // what the limit is
	target      target // the zero target: none
}

// A quantity is a number with its unit. The zero quantity is none.
type quantity struct {
	value float64
	show  func(float64) string
}

func (q quantity) String() string {
	if q.show == nil {
		return ""
	}
	return q.show(q.value)
}

// took is a duration.
func took(d time.Duration) quantity {
	return quantity{float64(d), func(v float64) string {
		switch d := time.Duration(v); {
		case d.Abs() < 10*time.Millisecond:
			return fmt.Sprintf("%.0f µs", v/1e3)
		case d.Abs() < 10*time.Second:
			return fmt.Sprintf("%.1f ms", v/1e6)
		default:
			return fmt.Sprintf("%.1f s", v/1e9)
		}
	}}
}

// perSecond is a rate.
func perSecond(x float64) quantity {
	return quantity{x, func(v float64) string {
		if v < 1000 {
			return fmt.Sprintf("%.1f /s", v)
		}
		return fmt.Sprintf("%.0f /s", v)
	}}
}

// kibibytes is a size, given in bytes.
func kibibytes(x float64) quantity {
	return quantity{x, func(v float64) string { return fmt.Sprintf("%.1f KiB", v/1024) }}
}

// mebibytes is a size, given in bytes.
func mebibytes(x float64) quantity {
	return quantity{x, func(v float64) string { return fmt.Sprintf("%.1f MiB", v/(1<<20)) }}
}

// percent is a share, given as a fraction.
func percent(x float64) quantity {
	return quantity{x, func(v float64) string { return fmt.Sprintf("%.2f %%", v*100) }}
}

// A target is what a figure should keep to.
type target struct {
	text string
	met  func(ours, limit float64) bool
}

// ratioAtMost asks for ours ≤ x·limit.
func ratioAtMost(x float64) target {
	return target{fmt.Sprintf("≤ %g×", x), func(ours, limit float64) bool { return ours <= x*limit }}
}

// ratioAtLeast asks for ours ≥ x·limit.
func ratioAtLeast(x float64) target {
	return target{fmt.Sprintf("≥ %g×", x), func(ours, limit float64) bool { return ours >= x*limit }}
}

// atMost asks for ours ≤ q, whatever the limit is.
func atMost(q quantity, text string) target {
	return target{"≤ " + text, func(ours, _ float64) bool { return ours <= q.value }}
}

// unmet is a target that was missed in another way than by its number; without a target there is nothing to miss.
func unmet(t target) target {
	if t.met != nil {
		t.met = func(float64, float64) bool { return false }
	}
	return t
}

// ratio is ours in terms of the limit; "" where that makes no sense.
func (r *row) ratio() string {
	if r.limit.show == nil || r.limit.value <= 0 {
		return ""
	}
	return fmt.Sprintf("%.2f×", r.ours.value/r.limit.value)
}

// verdict says whether the target is met; "" without one.
func (r *row) verdict() string {
	switch {
	case r.target.met == nil:
		return ""
	case r.target.met(r.ours.value, r.limit.value):
		return "ok"
	default:
		return "short"
	}
}
