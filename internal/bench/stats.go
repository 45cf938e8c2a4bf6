package main

import (
	"cmp"
	"math"
	"slices"
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
