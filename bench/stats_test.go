// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math"
	"testing"
)

// The expected values are those of R: quantile(x, q), type 7, which is its default; worked
// out by hand for these few numbers.
func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		values []float64
		q      float64
		want   float64
	}{
		{[]float64{7}, 0.5, 7},
		{[]float64{3, 1}, 0.5, 2},
		{[]float64{4, 1, 3, 2}, 0.25, 1.75},
		{[]float64{4, 1, 3, 2}, 0.75, 3.25},
		{[]float64{10, 20, 30, 40, 50}, 0.5, 30},
		{[]float64{10, 20, 30, 40, 50}, 0.95, 48},
		{[]float64{10, 20, 30, 40, 50}, 0, 10},
		{[]float64{10, 20, 30, 40, 50}, 1, 50},
	} {
		if got := quantile(c.values, c.q); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v-quantile of %v: %v, want %v", c.q, c.values, got, c.want)
		}
	}
	if got := quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
	values := []float64{3, 1, 2}
	if quantile(values, 0.5); values[0] != 3 {
		t.Error("the caller's values were sorted")
	}
	if got := spread([]float64{4, 1, 3, 2}); math.Abs(got-1.5/2.5) > 1e-9 {
		t.Errorf("spread %v", got)
	}
}

// What slows a whole round down does not change the ratio of its runs.
func TestRatioIsPaired(t *testing.T) {
	l := &Load{Series: []*Series{
		{Variant: bareName, Calls: 1, NS: []float64{10, 100, 10}},
		{Variant: floorName, Calls: 1, NS: []float64{15, 150, 15}, Stops: []float64{1, 1, 1}},
		{Variant: defaultName, Calls: 1, NS: []float64{20, 200, 20}, Stops: []float64{2, 2, 2}},
		{Variant: "bare@0", Calls: 1, NS: []float64{5, 5, 5}},
		{Variant: "default@0", Calls: 1, NS: []float64{20, 20, 20}},
	}}
	rows := l.Rows()
	if rows[2].Ratio != 2 || rows[2].Low != 2 || rows[2].High != 2 || rows[2].StopNS != 5 || math.Abs(rows[2].Floor-4./3) > 1e-9 {
		t.Errorf("default: %+v", rows[2])
	}
	few := &Load{Series: []*Series{l.Series[0], {Variant: defaultName, Calls: 1000, NS: []float64{20, 200, 20}, Stops: []float64{9, 9, 9}}}}
	if stop := few.Rows()[1].StopNS; !math.IsNaN(stop) { // nine stops of the start, and none of the calls
		t.Errorf("a stop of a load that does not stop: %v", stop)
	}
	if rows[4].Ratio != 4 { // by the bare run on the same cpu
		t.Errorf("default@0: %+v", rows[4])
	}
	if !math.IsNaN(rows[1].Floor) || !math.IsNaN(rows[0].Floor) {
		t.Error("the floor or bare by the floor")
	}
}
