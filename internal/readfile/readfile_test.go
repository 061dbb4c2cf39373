// SPDX-License-Identifier: Apache-2.0

package readfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestAll(t *testing.T) {
	for _, size := range []int{0, 1, 2047, 2048, 2049, 100_000} {
		name := filepath.Join(t.TempDir(), "f")
		want := bytes.Repeat([]byte("x"), size)
		if err := os.WriteFile(name, want, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := All(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
	for _, name := range []string{"/nonexistent", "/", "/proc/self/mem"} {
		_, want := os.ReadFile(name)
		_, err := All(name)
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%s: %v, os.ReadFile says %v", name, err, want)
		}
	}
	if _, err := All("/nonexistent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
