// SPDX-License-Identifier: Apache-2.0

package seals

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"ptguard/internal/policytext"
)

const example = `ptguard-seals: 1
owner: platform team
seals:
  - { path: /srv/app/prod.db, letters: WM, reason: "production data", hint: "use the staging copy" }
  - { path: "**/.env", letters: RC, reason: "secrets stay here" }
  - { path: ~/keys, letters: R, reason: "keys" }
  - { path: "/repo/*/private/**", letters: M, reason: "private" }
`

func TestRead(t *testing.T) {
	f, err := Read("a.yaml", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Seals) != 4 || f.Owner != "platform team" || len(f.Digest) != 64 {
		t.Fatalf("%+v", f)
	}
	s := f.Seals[0]
	if s.Letters != W|M || s.Owner != "platform team" || s.Reason != "production data" || s.Hint != "use the staging copy" || s.Pos != "a.yaml:4:5" {
		t.Errorf("%+v", s)
	}
}

// Each mistake is told with its line and a word on what to do.
func TestReadMistakes(t *testing.T) {
	head := "ptguard-seals: 1\nowner: x\nseals:\n"
	for text, want := range map[string]string{
		"":                                                    "empty",
		"owner: x\nseals: []\n":                               "ptguard-seals: 1",
		"ptguard-seals: 2\n":                                  "1:16",
		"ptguard-seals: 1\nseals: []\n":                       "owner",
		"ptguard-seals: 1\nowner: x\n":                        "seals:",
		"ptguard-seals: 1\nowners: x\n":                       `did you mean "owner"`,
		"ptguard-seals: 1\nowner: \"\"\n":                     "one line",
		head + "- {path: /a, letters: rw, reason: r}":         `did you mean "RW"`,
		head + "- {path: /a, letters: RX, reason: r}":         "expected R (read)",
		head + "- {path: /a, letters: RR, reason: r}":         "twice",
		head + "- {path: /a, letters: \"\", reason: r}":       "seals nothing",
		head + "- {path: /a, letters: R}":                     "says its reason",
		head + "- {letters: R, reason: r}":                    "names its path",
		head + "- {path: /a, reason: r}":                      "names its letters",
		head + "- {path: /a, letters: R, reason: r, why: r}":  "unknown key",
		head + "- {path: ./a, letters: R, reason: r}":         "wherever a run starts",
		head + "- {path: \"@work/a\", letters: R, reason: r}": "wherever a run starts",
		head + "- {path: \"/a[\", letters: R, reason: r}":     "no end",
		head + "- {path: $HOME/a, letters: R, reason: r}":     "not expanded",
		head + "- {path: /a, letters: R, reason: \"a\\nb\"}":  "one line",
	} {
		_, err := Read("s.yaml", []byte(text))
		var pe *policytext.PosError
		if err == nil || !errors.As(err, &pe) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want an error with %q, got %v", text, want, err)
		}
	}
}

func TestLoad(t *testing.T) {
	ok := &fstest.MapFile{Data: []byte(example)}
	files, err := Load("/d", fstest.MapFS{"b.yaml": ok, "a.yaml": ok, "README": {}, ".x.yaml": {Data: []byte("junk")}})
	if err != nil || len(files) != 2 || files[0].Name != "/d/a.yaml" {
		t.Errorf("%v %v", files, err)
	}
	for name, want := range map[string]string{"a.yml": "end in .yaml", "a.yaml/b": "not a regular file"} {
		if _, err := Load("/d", fstest.MapFS{name: ok}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Load("/d", fstest.MapFS{"a.yaml": {Data: []byte("junk: 1\n")}}); err == nil {
		t.Error("junk is accepted")
	}
}

func bound(t *testing.T, text string, lookup func(string) Target) *Set {
	t.Helper()
	f, err := Read("s.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Bind([]*File{f}, Machine{Homes: []string{"/home/me"}, Lookup: lookup})
}

var all = []Letters{R, W, M, C}

func TestFindByName(t *testing.T) {
	s := bound(t, example, nil)
	for path, want := range map[string]string{
		"/srv/app/prod.db":     "WM",
		"/srv/app/prod.db/x":   "WM", // all beneath
		"/srv/app/prod.db2":    "",   // by component
		"/srv/app":             "",
		"/a/.env":              "RC",
		"/.env":                "RC",
		"/a/.env/b":            "RC",
		"/a/x.env":             "",
		"/home/me/keys/id":     "R",
		"/home/you/keys/id":    "",
		"/repo/a/private/x":    "M",
		"/repo/a/private":      "", // D/** is the contents
		"/repo/a/b/private/x":  "",
		"/repo/a/private/.env": "RMC",
	} {
		got := ""
		for _, l := range all {
			if seal, letter := s.Find(&Object{Path: path}, []Letters{l}); seal != nil {
				got += letter.String()
			}
		}
		if got != want {
			t.Errorf("%s: sealed %q, want %q", path, got, want)
		}
	}
	if seal, l := s.Find(&Object{Path: "/srv/app/prod.db"}, []Letters{R, M, W}); seal == nil || l != M {
		t.Errorf("the first letter in order that is sealed: got %v", l)
	}
	if seal, _ := s.Find(&Object{Path: "/x", Spellings: []string{"/srv/./app/../app/prod.db"}}, []Letters{W}); seal == nil {
		t.Error("not by spelling")
	}
	var none *Set
	if seal, _ := none.Find(&Object{Path: "/a/.env"}, all); seal != nil {
		t.Error("no seals, and one found")
	}
}

func TestFindByInode(t *testing.T) {
	db, dir := Inode{1, 10}, Inode{1, 20}
	s := bound(t, `ptguard-seals: 1
owner: x
seals:
  - { path: /lnk/prod.db, letters: W, reason: r }
  - { path: /data, letters: R, reason: r }
  - { path: "**/.env", letters: R, reason: r }
`, func(path string) Target {
		switch path {
		case "/lnk/prod.db":
			return Target{Path: "/srv/prod.db", Exists: true, Inode: db, Born: 7}
		case "/lnk":
			return Target{Path: "/srv", Exists: true, IsDir: true}
		case "/data":
			return Target{Path: "/data", Exists: true, IsDir: true, Inode: dir}
		}
		return Target{Path: path}
	})
	sealed := func(o Object, l Letters) bool {
		seal, _ := s.Find(&o, []Letters{l})
		return seal != nil
	}
	for _, c := range []struct {
		what string
		o    Object
		l    Letters
		want bool
	}{
		{"the target of the link", Object{Path: "/srv/prod.db"}, W, true},
		{"the spelling", Object{Path: "/lnk/prod.db"}, W, true},
		{"an older hard link", Object{Path: "/tmp/x", Exists: true, Inode: db, Born: 7}, W, true},
		{"a new object with the old number", Object{Path: "/tmp/x", Exists: true, Inode: db, Born: 8}, W, false},
		{"another letter", Object{Path: "/tmp/x", Exists: true, Inode: db, Born: 7}, R, false},
		{"beneath the moved directory", Object{Path: "/moved/f", Exists: true, Inode: Inode{1, 30}, Above: []Inode{{1, 2}, dir}}, R, true},
		{"beneath another", Object{Path: "/moved/f", Exists: true, Inode: Inode{1, 30}, Above: []Inode{{1, 2}}}, R, false},
		{"an .env under another name, not met", Object{Path: "/a/x", Exists: true, Inode: Inode{1, 40}}, R, false},
	} {
		if got := sealed(c.o, c.l); got != c.want {
			t.Errorf("%s: sealed %v, want %v", c.what, got, c.want)
		}
	}
	met := Object{Path: "/a/.env", Exists: true, Inode: Inode{1, 40}, Born: 3}
	s.Meet(&met, false)
	met.Path = "/a/x"
	if !sealed(met, R) {
		t.Error("an object that was met is not sealed under its new name")
	}
	met.Born = 4
	if sealed(met, R) {
		t.Error("the number given again is sealed")
	}
	// What is moved out of a moved directory takes the seal along, files and folders.
	out := Object{Path: "/moved/sub", Exists: true, Inode: Inode{1, 41}, Born: 5, Above: []Inode{{1, 2}, dir}}
	s.Meet(&out, true)
	out.Path, out.Above = "/out", []Inode{{1, 2}}
	if !sealed(out, R) {
		t.Error("what was moved out of a moved directory is not sealed")
	}
	if !sealed(Object{Path: "/out/f", Exists: true, Inode: Inode{1, 42}, Above: []Inode{{1, 41}, {1, 2}}}, R) {
		t.Error("what is beneath a folder that was moved out of a moved directory is not sealed")
	}
}

func TestCarried(t *testing.T) {
	s := bound(t, `ptguard-seals: 1
owner: x
seals:
  - { path: /srv/app/prod.db, letters: W, reason: r }
  - { path: "**/.env", letters: R, reason: r }
  - { path: "**/conf/*.key", letters: R, reason: r }
  - { path: "/repo/*/db", letters: R, reason: r }
  - { path: "/data/**/x.db", letters: R, reason: r }
`, nil)
	for _, c := range []struct {
		dir, to string
		want    bool
	}{
		{"/srv/app", "/srv/old", true},
		{"/srv", "/old", true},
		{"/srv/app/prod.db", "/srv/x", false}, // letter M is for that
		{"/srv/other", "/srv/x", false},
		{"/a/conf", "/a/x", true},
		{"/a/b", "/a/c", false}, // .env and conf keep their names
		{"/repo/a", "/repo/b", true},
		{"/repo/a/sub", "/repo/a/sup", false},
		{"/repo", "/old", true},
		{"/data/build/tmp", "/data/build/out", false},
		{"/data/build", "/elsewhere", true},
		{"/data", "/elsewhere", true},
	} {
		if got := s.Carried(c.dir, c.to) != nil; got != c.want {
			t.Errorf("rename %s to %s: carried %v, want %v", c.dir, c.to, got, c.want)
		}
	}
}

// Whatever the text, it is read or refused with its place.
func FuzzRead(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte("ptguard-seals: 1\nowner: x\nseals: [ { path: \"/a/{b,c}/**\", letters: R, reason: r } ]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Read("s.yaml", text)
		if err == nil {
			for _, s := range file.Seals {
				if s.Owner == "" || s.Reason == "" || s.Letters == 0 {
					t.Errorf("%+v", s)
				}
			}
			Bind([]*File{file}, Machine{}).Find(&Object{Path: "/a/b"}, all)
			return
		}
		if _, ok := errors.AsType[*policytext.PosError](err); !ok {
			t.Errorf("%v has no place", err)
		}
	})
}
