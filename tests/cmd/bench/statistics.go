package main

import (
	"math"
	"slices"
	"time"
)

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// quantile returns the smallest value not exceeded by at least a share q of the sample; zero for an empty sample.
func quantile(sample []time.Duration, q float64) time.Duration {
	if len(sample) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(sample))
	return sorted[max(0, min(len(sorted)-1, int(math.Ceil(q*float64(len(sorted))))-1))]
}

// slowerPairs returns the number of pairs with a greater second value, and the number of pairs with different values.
func slowerPairs(first, second []time.Duration) (slower, pairs int) {
	for i := range min(len(first), len(second)) {
		switch {
		case second[i] > first[i]:
			slower++
			pairs++
		case second[i] < first[i]:
			pairs++
		}
	}
	return slower, pairs
}

// chanceOf returns how likely n coins show at least k heads: the one-sided sign test.
func chanceOf(k, n int) float64 {
	sum := 0.0
	for i := k; i <= n; i++ {
		logs := [3]float64{}
		for j, of := range []int{n, i, n - i} {
			logs[j], _ = math.Lgamma(float64(of + 1))
		}
		sum += math.Exp(logs[0] - logs[1] - logs[2] - float64(n)*math.Ln2)
	}
	return min(1, sum)
}

// middle returns the median of a nonempty sample, the lower one of two.
func middle(sample []float64) float64 {
	sorted := slices.Sorted(slices.Values(sample))
	return sorted[(len(sorted)-1)/2]
}

// exponent returns k of the best fit y = c * x^k: the least-squares slope of the logarithms. Values that are not
// positive are left out: they are too small to be measured. With fewer than two others it returns zero.
func exponent(x, y []float64) float64 {
	var n, sumX, sumY, sumXX, sumXY float64
	for i := range x {
		if x[i] <= 0 || y[i] <= 0 {
			continue
		}
		lx, ly := math.Log(x[i]), math.Log(y[i])
		n, sumX, sumY, sumXX, sumXY = n+1, sumX+lx, sumY+ly, sumXX+lx*lx, sumXY+lx*ly
	}
	spread := n*sumXX - sumX*sumX
	if spread <= 0 {
		return 0
	}
	return (n*sumXY - sumX*sumY) / spread
}

// mean returns the mean of a sample, zero of an empty one.
func mean(sample []int) float64 {
	sum := 0
	for _, v := range sample {
		sum += v
	}
	return float64(sum) / float64(max(1, len(sample)))
}
