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

// evened is how much greater a run is than the one beside it. What else the machine does changes more from one second to the
// next than what is looked for; two runs side by side have most of it in common. Runs of some kinds may be at an
// advantage, as what comes first is: the mean of the kinds' medians has none, if each kind has its opposite. (The median of
// all would be now one kind's and now another's.)
func evened[T float64 | time.Duration](runs, beside []T, kind func(i int) int) float64 {
	kinds := map[int][]float64{}
	for i, ratio := range ratios(runs, beside) {
		kinds[kind(i)] = append(kinds[kind(i)], ratio)
	}
	product := 1.0
	for _, kind := range kinds {
		product *= median(kind)
	}
	return math.Pow(product, 1/float64(len(kinds)))
}

// inTurns runs two contenders one after the other, each as often first as second; [inTurn] makes of it what counts.
func inTurns[T any](rounds int, ours, limit T, run func(T)) {
	turn := []T{ours, limit}
	for range rounds {
		for _, each := range turn {
			run(each)
		}
		slices.Reverse(turn)
	}
}

// byTurn tells runs that came first from those that came second, where that changes each time.
func byTurn(i int) int { return i % 2 }

// inTurn is what ours comes to where the limit has its median, of runs in turns.
func inTurn[T float64 | time.Duration](ours, limit []T) T {
	return T(float64(median(limit)) * evened(ours, limit, byTurn))
}

// mean is for what is counted in steps that are coarse beside a single value, as processor time is.
func mean(values []time.Duration) time.Duration {
	var sum time.Duration
	for _, v := range values {
		sum += v
	}
	return sum / time.Duration(max(1, len(values)))
}
