// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What the loads work on is computed from numbers alone: the same on each machine and in each
// run, whatever the time.

// epoch is the time of everything that has one.
var epoch = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

// writeTree writes files, by path below root.
func writeTree(root string, files map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// cTree is a make tree of n C files with a header each, and a main that calls them all.
func cTree(n int) map[string]string {
	files := map[string]string{}
	var main, calls, objects strings.Builder
	main.WriteString("#include <stdio.h>\n")
	for i := range n {
		files[fmt.Sprintf("f%03d.h", i)] = fmt.Sprintf("int f%03d(int);\n", i)
		files[fmt.Sprintf("f%03d.c", i)] = fmt.Sprintf("#include <stdlib.h>\n#include <string.h>\n#include \"f%03d.h\"\nint f%03d(int x) { return abs(x) + %d; }\n", i, i, i)
		fmt.Fprintf(&main, "#include \"f%03d.h\"\n", i)
		fmt.Fprintf(&calls, "\tsum += f%03d(sum & 7);\n", i)
		fmt.Fprintf(&objects, " f%03d.o", i)
	}
	fmt.Fprintf(&main, "int main(void)\n{\n\tint sum = 0;\n%s\tprintf(\"%%d\\n\", sum);\n\treturn 0;\n}\n", calls.String())
	files["main.c"] = main.String()
	files["Makefile"] = "OBJECTS =" + objects.String() + " main.o\nCC = gcc\nCFLAGS = -O0\nprog: $(OBJECTS)\n\t$(CC) -o $@ $(OBJECTS)\n%.o: %.c\n\t$(CC) $(CFLAGS) -c -o $@ $<\n"
	return files
}

const npmApp = `{"name":"app","version":"1.0.0","description":"made by ptguard bench","license":"Apache-2.0","main":"lib/m000.js"}
`

// npmTree is a package to pack, in app, and one to install, in dep, of n modules each.
func npmTree(n int) map[string]string {
	files := map[string]string{
		"app/package.json": npmApp,
		"dep/package.json": strings.ReplaceAll(npmApp, `"app"`, `"dep"`),
	}
	for i := range n {
		text := fmt.Sprintf("module.exports = %d;\n%s", i, strings.Repeat("// a line of module "+strconv.Itoa(i)+"\n", 10+i%30))
		files[fmt.Sprintf("app/lib/m%03d.js", i)] = text
		files[fmt.Sprintf("dep/lib/m%03d.js", i)] = text
	}
	return files
}

// pythonTree is a program that imports parts of the library and n modules of its own.
func pythonTree(n int) map[string]string {
	files := map[string]string{"pkg/__init__.py": ""}
	var all strings.Builder
	all.WriteString("import argparse, asyncio, concurrent.futures, csv, ctypes, dataclasses, decimal, email.message, fractions, http.client, http.server\n")
	all.WriteString("import json, logging, pickle, sqlite3, statistics, subprocess, tarfile, tempfile, unittest, urllib.request, uuid, xml.etree.ElementTree, zipfile\n")
	for i := range n {
		dir := fmt.Sprintf("pkg/p%02d", i/20)
		files[dir+"/__init__.py"] = ""
		files[fmt.Sprintf("%s/m%03d.py", dir, i)] = fmt.Sprintf("VALUE = %d\n\n\ndef value():\n    return VALUE\n", i)
		fmt.Fprintf(&all, "import pkg.p%02d.m%03d\n", i/20, i)
	}
	fmt.Fprintf(&all, "import sys\nprint(sum(m.value() for k, m in sys.modules.items() if k.startswith('pkg.') and hasattr(m, 'VALUE')))\n")
	files["storm.py"] = all.String()
	return files
}

// makeRepository makes a git repository of n files and as many commits as said, whose object
// names are the same on every machine.
func makeRepository(g *ground, dir string, n, commits int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	git := func(at int, args ...string) error {
		cmd := g.command(g.programs["git"], args...)
		date := epoch.Add(time.Duration(at) * time.Hour).Format(time.RFC3339)
		cmd.Dir, cmd.Env = dir, append(slices.Clone(g.env), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@example.org", "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %.300s", args[0], err, out)
		}
		return nil
	}
	if err := git(0, "-c", "init.defaultBranch=main", "init", "-q"); err != nil {
		return err
	}
	for c := range commits {
		files := map[string]string{}
		for i := range n {
			if c == 0 || i%commits == c {
				files[fmt.Sprintf("d%02d/file%03d.txt", i%17, i)] = strings.Repeat(fmt.Sprintf("commit %d, file %d\n", c, i), 5+i%40)
			}
		}
		if err := writeTree(dir, files); err != nil {
			return err
		}
		if err := git(c, "add", "-A"); err != nil {
			return err
		}
		if err := git(c, "commit", "-q", "--allow-empty", "-m", "commit "+strconv.Itoa(c)); err != nil {
			return err
		}
	}
	return nil
}

// writeTar writes a tar file, compressed if its name ends in tgz, of those files whose names
// begin with from, which prefix replaces.
func writeTar(name, prefix string, files map[string]string, from string) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	closers := []io.Closer{f}
	defer func() {
		for _, c := range slices.Backward(closers) {
			if e := c.Close(); err == nil {
				err = e
			}
		}
	}()
	var to io.Writer = f
	if strings.HasSuffix(name, ".tgz") {
		z := gzip.NewWriter(f)
		to, closers = z, append(closers, z)
	}
	t := tar.NewWriter(to)
	closers = append(closers, t)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		rest, ours := strings.CutPrefix(file, from)
		if !ours {
			continue
		}
		text := files[file]
		if err := t.WriteHeader(&tar.Header{Name: prefix + rest, Mode: 0o644, Size: int64(len(text)), ModTime: epoch, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		if _, err := io.WriteString(t, text); err != nil {
			return err
		}
	}
	return nil
}

// countFiles tells how many files there are below dir, and their bytes.
func countFiles(dir string) (string, error) {
	files, size := 0, int64(0)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && !strings.HasSuffix(path, ".package-lock.json") { // has the folder's name in it
			files, size = files+1, size+info.Size()
		}
		return err
	})
	return fmt.Sprintf("%d files, %d bytes", files, size), err
}

// homeOf is where the toolchain of a program lies: the folder above its bin. Links are
// followed, for a strict policy grants what they lead to.
func homeOf(g *ground, names ...string) []string {
	var out []string
	for _, name := range names {
		for _, path := range []string{g.programs[name], resolved(g.programs[name])} {
			if dir := filepath.Dir(filepath.Dir(path)); dir != "/" && !slices.Contains(out, dir) {
				out = append(out, dir)
			}
		}
	}
	return out
}

func resolved(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return path
	}
	return real
}
