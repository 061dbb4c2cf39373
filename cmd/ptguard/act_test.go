// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// A ~ is a home only as the first name of a path, and never a folder of that name.
func TestActHome(t *testing.T) {
	for path, want := range map[string]string{"~": "/h", "~/a": "/h/a", "~/a/~": "/h/a/~", "a/~": "/w/a/~", "~a": "/w/~a", "/~": "/~"} {
		acts, err := parseAct([]string{"read", path}, "/w", "/h")
		if err != nil || len(acts) != 1 || acts[0].Objects[0].Path != want {
			t.Errorf("%s: %v %+v, want %s", path, err, acts, want)
		}
	}
	for _, words := range []string{"read ~", "read ~/a", "rename a ~/b", "exec ~/a", "connect unix ~/a"} {
		if _, err := parseAct(strings.Fields(words), "/w", ""); err == nil || !strings.Contains(err.Error(), "no home folder is known") {
			t.Errorf("%s without a home: %v", words, err)
		}
	}
}
