// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math"
	"slices"
)

// quantile gives the q-quantile (0 to 1) of values by linear interpolation between the closest
// ranks (type 7 of Hyndman and Fan, as in R and NumPy); NaN of nothing.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	at := q * float64(len(sorted)-1)
	low := int(math.Floor(at))
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// spread is the distance of the quartiles by the median: how much a series varies, where a
// single late run does not count.
func spread(values []float64) float64 {
	return (quantile(values, 0.75) - quantile(values, 0.25)) / median(values)
}

// paired divides each value by that of the same round: what the machine did in a round
// befell both.
func paired(values, by []float64) []float64 {
	out := make([]float64, min(len(values), len(by)))
	for i := range out {
		out[i] = values[i] / by[i]
	}
	return out
}
