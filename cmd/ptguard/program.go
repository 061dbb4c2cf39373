// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// findProgram finds CMD as execvp(3) does: a name with a slash is a path, else PATH of the
// environment the program gets is searched. The result is what execve is given, so that
// $0, AT_EXECFN and comm are as without ptguard.
func findProgram(name string, env []string) (string, error) {
	if name == "" {
		return "", &statusError{code: exitNotFound, err: errors.New("the program's name is empty")}
	}
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	var denied error
	for _, dir := range filepath.SplitList(lookupEnv(env, "PATH", "/usr/local/bin:/usr/bin:/bin")) {
		if dir == "" {
			dir = "."
		}
		candidate := dir + "/" + name
		err := executable(candidate)
		if err == nil {
			return candidate, nil
		}
		var status *statusError
		if errors.As(err, &status) && status.code == exitCannotRun && denied == nil && !errors.Is(err, unix.ENOTDIR) {
			denied = err // execvp goes on and reports EACCES if nothing better comes
		}
	}
	if denied != nil {
		return "", denied
	}
	return "", &statusError{code: exitNotFound, err: fmt.Errorf("%s: not found in PATH", name)}
}

// executable says why a file cannot be executed: 127 if it is not there, else 126.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, unix.ENOENT):
		return &statusError{code: exitNotFound, err: fmt.Errorf("%s: %w", path, errnoOf(err))}
	case err != nil:
		return &statusError{code: exitCannotRun, err: fmt.Errorf("%s: %w", path, errnoOf(err))}
	case info.IsDir():
		return &statusError{code: exitCannotRun, err: fmt.Errorf("%s: is a directory", path)}
	case !info.Mode().IsRegular():
		return &statusError{code: exitCannotRun, err: fmt.Errorf("%s: not a regular file", path)}
	}
	// The effective ids decide, as for execve.
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS); err != nil {
		return &statusError{code: exitCannotRun, err: fmt.Errorf("%s: %w", path, err)}
	}
	return nil
}

func errnoOf(err error) error {
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		return errno
	}
	return err
}

func lookupEnv(env []string, name, otherwise string) string {
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return otherwise
}
