// SPDX-License-Identifier: Apache-2.0

package inherit

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("PTGUARD_TEST_INHERIT") != "" {
		set, known := Ignored()
		fmt.Printf("%x %v\n", set, known)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A shell ignores signals (the kernel tells so in SigIgn, before any Go) and execs us.
func TestIgnoredSignalsAreFound(t *testing.T) {
	for _, signals := range []string{"", "PIPE", "HUP INT QUIT PIPE TERM USR1 USR2 CHLD", "TSTP TTIN TTOU", "ALRM RTMIN+3"} {
		trap := ""
		if signals != "" {
			trap = "trap '' " + signals + "; "
		}
		// The expected set is what the kernel says of a program that is not Go.
		want := run(t, trap+"exec grep SigIgn /proc/self/status", nil)
		want = strings.TrimLeft(strings.TrimSpace(strings.TrimPrefix(want, "SigIgn:")), "0")
		if want == "" {
			want = "0"
		}
		got := run(t, trap+`exec "$0"`, []string{"PTGUARD_TEST_INHERIT=1"})
		if got != want+" true\n" {
			t.Errorf("trap '' %s: got %q, the kernel says %s", signals, got, want)
		}
	}
}

func run(t *testing.T, script string, env []string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c", script, self)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return string(out)
}
