// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"slices"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// Filter selects records. Each field that is set must match; a list matches if one of its
// entries does. The zero Filter matches everything.
type Filter struct {
	Events   []string // audit event or system call
	Paths    []string // globs (* ** ? [] {}) for the canonical path or the path as given
	PIDs     []int    // process or thread
	Verdicts []string
	Since    time.Time
}

// Check reports a malformed glob.
func (f *Filter) Check() error {
	for _, p := range f.Paths {
		if !doublestar.ValidatePattern(p) {
			return fmt.Errorf("malformed path pattern %q", p)
		}
	}
	return nil
}

// Match tells whether r is selected. r is as read from a trace: names escaped. Patterns
// are compared with the names themselves.
func (f *Filter) Match(r *Record) bool {
	switch {
	case len(f.Events) > 0 && !slices.Contains(f.Events, r.Event) && !slices.Contains(f.Events, r.Syscall):
		return false
	case len(f.PIDs) > 0 && !slices.Contains(f.PIDs, r.PID) && !slices.Contains(f.PIDs, r.TID):
		return false
	case len(f.Verdicts) > 0 && !slices.Contains(f.Verdicts, r.Verdict):
		return false
	case !f.Since.IsZero() && r.Time.Before(f.Since):
		return false
	}
	return len(f.Paths) == 0 || f.matchPath(r)
}

func (f *Filter) matchPath(r *Record) bool {
	for _, name := range []string{r.Resolved, r.Path} {
		if name == "" {
			continue
		}
		name = Unescape(name)
		for _, p := range f.Paths {
			if doublestar.MatchUnvalidated(p, name) {
				return true
			}
		}
	}
	return false
}

// ParseSince reads a moment: RFC 3339, or a duration before now (90s, 10m, 2h).
func ParseSince(text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return time.Time{}, fmt.Errorf("since %q: neither a time (2026-01-31T12:00:00Z) nor a duration (10m)", text)
	}
	return now.Add(-d), nil
}
