// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestSealDir: none is no seals; a link that leads nowhere is not taken for none.
func TestSealDir(t *testing.T) {
	old := sealDir
	defer func() { sealDir = old }()
	sealDir = filepath.Join(t.TempDir(), "seals.d")
	if files, _, err := loadSeals(nil); err != nil || len(files) != 0 {
		t.Errorf("absent: %v %v", files, err)
	}
	if err := os.Symlink("absent", sealDir); err != nil {
		t.Fatal(err)
	}
	if _, _, err := loadSeals(nil); err == nil {
		t.Error("a link that leads nowhere is taken for no seals")
	}
}
