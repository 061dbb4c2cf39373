// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"golang.org/x/sys/unix"
	"ptguard/internal/resolve"
	"ptguard/record"
	"ptguard/rules"
	"ptguard/seals"
)

// sealDir is where the organisation's seals lie; it need not be there. A test has another.
var sealDir = "/etc/ptguard/seals.d"

// loadSeals reads the seal files of sealDir and of the given directories. places are the
// directories and files, which the tree must not change.
func loadSeals(dirs []string) (files []*seals.File, places []string, err error) {
	for i, dir := range append([]string{sealDir}, dirs...) {
		places = append(places, dir)
		if i == 0 {
			if _, err := os.Lstat(dir); errors.Is(err, unix.ENOENT) { // not Stat: a link to nowhere is a mistake
				continue
			}
		}
		found, err := seals.Load(dir, os.DirFS(dir))
		if err != nil {
			return nil, nil, err
		}
		for _, f := range found {
			places = append(places, f.Name)
		}
		files = append(files, found...)
	}
	return files, places, nil
}

// bindSeals ties seals to this machine; nil if there are none.
func bindSeals(files []*seals.File, f *rules.Machine) *seals.Set {
	n := 0
	for _, file := range files {
		n += len(file.Seals)
	}
	if n == 0 {
		return nil
	}
	var homes []string
	for _, home := range []string{f.PasswdHome, f.EnvHome} {
		if filepath.IsAbs(home) {
			homes = append(homes, home)
		}
	}
	return seals.Bind(files, seals.Machine{Homes: homes, Lookup: func(path string) seals.Target {
		t := lookup(path)
		return seals.Target{Path: t.Path, Exists: t.Exists, IsDir: t.IsDir, Inode: seals.Inode(t.Inode), Born: birth(t.Path)}
	}})
}

// placeless words the bound seals that hold nowhere, as one beneath ~ where there is no home.
func placeless(files []*seals.File) []string {
	var out []string
	for _, f := range files {
		for _, s := range f.Seals {
			if len(s.Places) == 0 {
				out = append(out, fmt.Sprintf("%s: %s names no place on this machine: it seals nothing", s.Pos, record.Escape(s.Path)))
			}
		}
	}
	return out
}

// birth is the time of birth of a file, 0 if the file system keeps none.
func birth(path string) int64 {
	var st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st) != nil || st.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
}

// outOfReach refuses seal files that the policy, or that of a scope, would let the tree
// change: they are guarded in this run, but what the next one is told must not lie where
// programs write.
func outOfReach(layers []*rules.Source, m *machine, scope string, files []*seals.File) error {
	scopes, err := rules.CompileUnguarded(layers, m.bound(), scope)
	if err != nil || scopes.Base().Mode() == rules.ModeOpen {
		return err
	}
	for _, f := range files {
		at := lookup(absolute(m.facts.Cwd, f.Name))
		path := at.Path
		if path == "" {
			return fmt.Errorf("the seal file %s leads to a file without a name, which cannot be kept from the run", record.Escape(f.Name))
		}
		if rule := scopes.Writable(path); rule != nil {
			return &statusError{
				code: exitFailed, err: fmt.Errorf("the run could write the seal file %s: %s allows it", record.Escape(path), rule.Pos),
				hint: "keep seal files outside the work folder, the temp folders and every write rule",
			}
		}
		for _, link := range at.Links {
			if rule := scopes.Writable(link); rule != nil {
				return &statusError{
					code: exitFailed, err: fmt.Errorf("the run could change the link %s, which leads to the seal file %s: %s allows it", record.Escape(link), record.Escape(path), rule.Pos),
					hint: "keep the links to seal files where seal files may lie, or name the folder without them",
				}
			}
		}
	}
	return nil
}

// sealDigests are the seal files with the SHA-256 of their text, for the start record.
func sealDigests(files []*seals.File) []string {
	var out []string
	for _, f := range files {
		out = append(out, f.Name+" sha256:"+f.Digest)
	}
	return out
}

// sealsCmd is "ptguard seals list|check|explain".
type sealsCmd struct {
	List    sealsListCmd    `cmd:"" help:"List the seals that hold here."`
	Check   sealsCheckCmd   `cmd:"" help:"Check seal files: exit 1 on a mistake."`
	Explain sealsExplainCmd `cmd:"" help:"Tell what is sealed of a path, by whom and why."`
}

type sealsFlag struct {
	Seals []string `placeholder:"DIR" sep:"none" help:"More seal files, beside those of /etc/ptguard/seals.d (repeatable; default none)."`
}

func (f sealsFlag) bound() (*seals.Set, error) {
	files, _, err := loadSeals(f.Seals)
	if err != nil {
		return nil, err
	}
	return bindSeals(files, &rules.Machine{PasswdHome: passwdHome(os.Geteuid()), EnvHome: os.Getenv("HOME")}), nil
}

type sealsListCmd struct{ sealsFlag }

// Run is called by kong.
func (c *sealsListCmd) Run() error {
	set, err := c.bound()
	if err != nil {
		return err
	}
	if len(set.Seals()) == 0 {
		fmt.Println("no seals")
		return nil
	}
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "LETTERS\tPATH\tOWNER\tREASON\tFROM")
	for _, s := range set.Seals() {
		where := record.Escape(s.Path)
		if len(s.Places) == 0 {
			where += " (nowhere here)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", s.Letters, where, record.Escape(s.Owner), record.Escape(s.Reason), record.Escape(s.Pos))
	}
	return t.Flush()
}

type sealsCheckCmd struct {
	sealsFlag
	Files []string `arg:"" optional:"" placeholder:"FILE" help:"Seal files, or folders of them, to check beside those that hold here (default none)."`
}

// Run is called by kong. Every file is looked at; the status is 1 if any has a mistake.
func (c *sealsCheckCmd) Run() error {
	files, _, err := loadSeals(c.Seals)
	bad := err != nil
	if bad {
		fmt.Println("error: " + visible(err.Error()))
	}
	for _, name := range c.Files {
		var found []*seals.File
		var err error
		if info, e := os.Stat(name); e == nil && info.IsDir() {
			found, err = seals.Load(name, os.DirFS(name))
		} else {
			found = make([]*seals.File, 1)
			dir, base := filepath.Split(name)
			found[0], err = seals.LoadFile(dir, os.DirFS(dir+"."), base)
		}
		if err != nil {
			bad = true
			fmt.Println("error: " + visible(err.Error()))
			continue
		}
		files = append(files, found...)
	}
	if len(files) == 0 && !bad {
		fmt.Println("no seals")
	}
	bindSeals(files, &rules.Machine{PasswdHome: passwdHome(os.Geteuid()), EnvHome: os.Getenv("HOME")})
	for _, w := range placeless(files) {
		fmt.Println("warning: " + record.EscapeText(w))
	}
	for _, f := range files {
		if os.Geteuid() != 0 && unix.Access(f.Name, unix.W_OK) == nil {
			fmt.Printf("warning: %s: you can write it yourself, so it binds nobody\n", record.Escape(f.Name))
		}
		plural := "s"
		if len(f.Seals) == 1 {
			plural = ""
		}
		fmt.Printf("%s: ok, owner %s, %d seal%s\n", record.Escape(f.Name), record.Escape(f.Owner), len(f.Seals), plural)
	}
	if bad {
		return &statusError{code: 1}
	}
	return nil
}

type sealsExplainCmd struct {
	sealsFlag
	Paths []string `arg:"" placeholder:"PATH" name:"path" help:"Files or folders to explain."`
}

// letterWords say what each letter forbids.
var letterWords = []struct {
	letter seals.Letters
	words  string
}{{seals.R, "read"}, {seals.W, "change"}, {seals.M, "take away"}, {seals.C, "copy out"}}

// Run is called by kong.
func (c *sealsExplainCmd) Run() error {
	set, err := c.bound()
	if err != nil {
		return err
	}
	for _, path := range c.Paths {
		if err := explainSeals(set, path); err != nil {
			return err
		}
	}
	return nil
}

func explainSeals(set *seals.Set, path string) error {
	if path == "" {
		return errors.New("seals explain: an empty path names nothing")
	}
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the current directory: %w", errnoOf(err))
	}
	o, err := resolve.Canonical(absolute(cwd, path))
	if err != nil {
		return err
	}
	q := seals.Object{Path: o.Path, Spellings: o.Hops, Exists: o.Exists && o.Errno == 0, Inode: seals.Inode{Dev: o.Stat.Dev, Ino: o.Stat.Ino}, Born: birth(o.Path)}
	for dir := o.Path; dir != "/" && dir != "."; {
		dir = filepath.Dir(dir)
		if t := lookup(dir); t.Exists {
			q.Above = append(q.Above, seals.Inode(t.Inode))
		}
	}
	switch {
	case o.Path == "":
		fmt.Printf("%s  (what it leads to has no name)\n", record.Escape(path))
	case o.Errno != 0 || !o.Exists:
		fmt.Printf("%s  (by its name alone: %s)\n", record.Escape(o.Path), cmp.Or(o.Errno, unix.ENOENT))
	default:
		fmt.Println(record.Escape(o.Path))
	}
	for _, l := range letterWords {
		seal, _ := set.Find(&q, []seals.Letters{l.letter})
		if seal == nil {
			fmt.Printf("  %s %-9s  not sealed\n", l.letter, l.words)
			continue
		}
		text := fmt.Sprintf("sealed by %s: %s", seal.Owner, seal.Reason)
		if seal.Hint != "" {
			text += " (" + seal.Hint + ")"
		}
		fmt.Printf("  %s %-9s  %s, %s %s\n", l.letter, l.words, record.Escape(text), record.Escape(seal.Pos), record.Escape(strings.TrimSpace(seal.Path)))
	}
	return nil
}
