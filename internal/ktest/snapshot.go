// SPDX-License-Identifier: Apache-2.0

package ktest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Snapshot describes every object of the box's folders: name, mode, owner, links, size,
// inode, and the times of content and of status. Any change by a system call shows in
// it, for since Linux 6.13 a status time that was looked at is never given twice.
func (b *Box) Snapshot(t testing.TB) string {
	t.Helper()
	var out strings.Builder
	for _, dir := range []string{b.Work, b.Home, b.Tmp, b.Outside} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrPermission) && d != nil && d.IsDir() {
				// Not ours to look into, and nobody's to change: its own line is there, and its
				// times tell whether anything was made in it.
				return fs.SkipDir
			}
			if err != nil {
				return err
			}
			info, err := os.Lstat(path)
			if err != nil {
				return err
			}
			st := info.Sys().(*syscall.Stat_t)
			target, _ := os.Readlink(path)
			fmt.Fprintf(&out, "%s %v %d:%d ×%d %d #%d m%d.%d c%d.%d %s\n", strings.TrimPrefix(path, b.Root), info.Mode(), st.Uid, st.Gid,
				st.Nlink, st.Size, st.Ino, st.Mtim.Sec, st.Mtim.Nsec, st.Ctim.Sec, st.Ctim.Nsec, target)
			return nil
		})
		if err != nil {
			t.Errorf("snapshot: %v", err)
		}
	}
	return out.String()
}
