// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Canonical resolves an absolute path of ptguard's own, as a policy names it: links are
// followed, and where the path ends before its last component the rest is appended as it
// is written. The object holds no descriptors; Exists says whether all of it is there, and
// Errno why not. It is an error if the path is not absolute or nothing can be known.
func Canonical(path string) (Object, error) {
	if path == "" || path[0] != '/' {
		return Object{}, fmt.Errorf("resolve %q: not absolute", path)
	}
	o, err := Resolve(Task{TGID: os.Getpid(), TID: unix.Gettid()}, unix.AT_FDCWD, path, 0)
	if err != nil {
		return Object{}, fmt.Errorf("resolve %q: %w", path, err)
	}
	o.Close()
	return *o, nil
}
