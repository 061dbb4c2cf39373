// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"strconv"
	"testing"
)

func TestStrings(t *testing.T) {
	var s Strings
	if got := s.Of(nil); got != "" {
		t.Errorf("no bytes: %q", got)
	}
	b := []byte("/etc/passwd")
	kept := s.Of(b)
	b[1] = 'E' // the bytes are the caller's
	if kept != "/etc/passwd" || s.Of(b) != "/Etc/passwd" {
		t.Errorf("%q, %q", kept, s.Of(b))
	}
	if n := testing.AllocsPerRun(100, func() { s.Of(b) }); n != 0 {
		t.Errorf("the same again: %v allocations", n)
	}
	for i := range 10 * sets * ways { // more than are kept, each pushing others out
		want := "/path/" + strconv.Itoa(i)
		if got := s.Of([]byte(want)); got != want {
			t.Fatalf("%q is %q", want, got)
		}
	}
}
