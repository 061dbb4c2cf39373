// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("find module %s: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}

func lower(s string) string { return strings.ToLower(s) }

func number(t *testing.T, s string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}
