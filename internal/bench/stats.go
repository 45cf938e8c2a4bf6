package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// percentile returns the smallest value that at least the given share of all values do not exceed. It sorts a copy.
func percentile[T cmp.Ordered](values []T, share float64) T {
	sorted := slices.Sorted(slices.Values(values))
	if len(sorted) == 0 {
		var none T
		return none
	}
	rank := int(math.Ceil(share * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

func median[T cmp.Ordered](values []T) T { return percentile(values, 0.5) }

// ratios is how much greater each run is than the one beside it.
func ratios[T float64 | time.Duration](runs, beside []T) []float64 {
	of := make([]float64, len(runs))
	for i := range runs {
		of[i] = float64(runs[i]) / float64(beside[i])
	}
	return of
}

// mean is for what is counted in steps that are coarse beside a single value, as processor time is.
func mean(values []time.Duration) time.Duration {
	var sum time.Duration
	for _, v := range values {
		sum += v
	}
	return sum / time.Duration(max(1, len(values)))
}
