// SPDX-License-Identifier: Apache-2.0

package atstart_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"ptguard/internal/atstart"
)

func TestMain(m *testing.M) {
	if os.Getenv("PTGUARD_TEST_ATSTART") != "" {
		soft, hard := atstart.OpenFiles()
		fmt.Println(soft, hard)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A shell sets the limits and executes us; Go has raised the soft one by the time we run.
func TestOpenFiles(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `ulimit -Sn 77; ulimit -Hn 200; exec "$0"`, self)
	cmd.Env = append(os.Environ(), "PTGUARD_TEST_ATSTART=1")
	out, err := cmd.Output()
	if err != nil || string(out) != "77 200\n" {
		t.Errorf("got %q, %v; want 77 200", out, err)
	}
}
