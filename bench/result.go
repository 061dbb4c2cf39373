// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Format is the version of the JSON form.
const Format = 1

// NoiseLimit is how much the bare runs of a load may vary (the distance of the quartiles by
// the median) for its figures to be reported.
const NoiseLimit = 0.15

// Result is everything that a run of the harness measured, and its JSON form: the single
// values are kept, what is told of them is computed when it is told.
type Result struct {
	Format  int     `json:"ptguard_bench"`
	Time    string  `json:"time"` // RFC 3339
	Version string  `json:"version"`
	Machine Machine `json:"machine"`
	Plan    string  `json:"plan"` // full, quick or selected
	CPUs    string  `json:"cpus,omitempty"`
	Seconds float64 `json:"seconds"`
	Loads   []*Load `json:"loads"`
	// Variants are told of in their order.
	Variants []VariantText `json:"variants"`
	Missing  []Missing     `json:"missing,omitempty"`
	// Broken says what ended the run before it was through, empty if nothing did. The loads
	// that are told were finished; those that were not are Missing.
	Broken string `json:"broken,omitempty"`
}

// Machine is where it was measured.
type Machine struct {
	Kernel string `json:"kernel"`
	Arch   string `json:"arch"`
	CPU    string `json:"cpu"`
	CPUs   int    `json:"cpus"`
	UID    int    `json:"uid"`
	Tier   string `json:"tier,omitempty"` // what a run's first record says is active
}

// VariantText says what a variant is.
type VariantText struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Missing is a load or a variant that was left out, and why.
type Missing struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Load is one load and its series, bare first.
type Load struct {
	Name   string    `json:"name"`
	Text   string    `json:"text"`
	Kind   Kind      `json:"kind"`
	Series []*Series `json:"series"`
	// Seconds are what measuring it took in all: laying out, warm-up, and rounds that do not
	// count included. 0: not known.
	Seconds float64 `json:"seconds,omitempty"`
}

// Series are the runs of one load in one variant, a value a round; the rounds of all series
// of a load belong together.
type Series struct {
	Variant string `json:"variant"`
	// Calls are those of one run of a micro load, else 1.
	Calls int `json:"calls"`
	// NS are nanoseconds a call.
	NS []float64 `json:"ns"`
	// Stops of one run, as the tracer itself counts them; absent for peers that do not.
	Stops []float64 `json:"stops,omitempty"`
	// CPU are the nanoseconds of user and system time of the tracer alone in one run.
	CPU []float64 `json:"cpu_ns,omitempty"`
	// PeakKiB is the most memory the tracer alone had resident (VmHWM), 0 if unknown.
	PeakKiB int64 `json:"peak_kib,omitempty"`
	// Failed says why there are no values.
	Failed string `json:"failed,omitempty"`
}

// series finds the one of a variant, nil if there is none with values.
func (l *Load) series(variant string) *Series {
	for _, s := range l.Series {
		if s.Variant == variant && len(s.NS) > 0 {
			return s
		}
	}
	return nil
}

// rounds is how often the load ran without ptguard.
func (l *Load) rounds() int {
	if bare := l.series(bareName); bare != nil {
		return len(bare.NS)
	}
	return 0
}

// noise is how much the bare runs vary.
func (l *Load) noise() float64 {
	if bare := l.series(bareName); bare != nil {
		return spread(bare.NS)
	}
	return 0
}

// Noisy tells whether the bare runs vary too much for the figures to mean anything.
func (l *Load) Noisy() bool { return l.noise() > NoiseLimit }

// Noisy lists the loads whose figures mean nothing.
func (r *Result) Noisy() []string {
	var out []string
	for _, l := range r.Loads {
		if l.Noisy() {
			out = append(out, l.Name)
		}
	}
	return out
}

// Failures names what was begun and failed, as "load in variant", in the order of the report.
func (r *Result) Failures() []string {
	var out []string
	for _, l := range r.Loads {
		for _, s := range l.Series {
			if s.Failed != "" {
				out = append(out, l.Name+" in "+s.Variant)
			}
		}
	}
	return out
}

// NotWhole says in one line what the run should have measured and did not, empty if that is
// nothing. What is not there on the machine is left out of a whole run.
func (r *Result) NotWhole() string {
	var parts []string
	if r.Broken != "" {
		text := r.Broken
		var missing []string
		for _, x := range r.Missing {
			if x.Why == r.Broken {
				missing = append(missing, x.What)
			}
		}
		if len(missing) > 0 {
			text += ", not measured: " + strings.Join(missing, ", ")
		}
		parts = append(parts, text)
	}
	if failed := r.Failures(); len(failed) > 0 {
		parts = append(parts, "failed: "+strings.Join(failed, ", "))
	}
	if len(parts) == 0 {
		return ""
	}
	return "not a whole run: " + strings.Join(parts, "; ")
}

// Write gives the JSON form.
func (r *Result) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(r)
}

// Read takes the JSON form. The error says what is wrong with the file.
func Read(in io.Reader) (*Result, error) {
	r := &Result{}
	dec := json.NewDecoder(in)
	dec.DisallowUnknownFields()
	if err := dec.Decode(r); err != nil {
		return nil, fmt.Errorf("not a result of ptguard bench --json: %w", err)
	}
	if r.Format != Format {
		return nil, fmt.Errorf("a result of format %d, this ptguard knows %d: measure again", r.Format, Format)
	}
	for _, l := range r.Loads {
		for _, s := range l.Series {
			for _, v := range s.NS {
				if v <= 0 {
					return nil, fmt.Errorf("load %s, variant %s: a run of %v ns", l.Name, s.Variant, v)
				}
			}
			if s.Calls < 1 && s.Failed == "" {
				return nil, errors.New("load " + l.Name + ": a series without calls")
			}
		}
	}
	return r, nil
}

// load finds a load by name.
func (r *Result) load(name string) *Load {
	for _, l := range r.Loads {
		if l.Name == name {
			return l
		}
	}
	return nil
}
