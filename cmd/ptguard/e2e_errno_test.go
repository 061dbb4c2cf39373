// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"ptguard/internal/ktest"
)

// errnoPrefix runs a command as another user or under another mount table; the same for
// the bare and the guarded half.
type errnoPrefix struct {
	name string
	argv []string
	uid  int // who owns the box
}

// errnoUsers are the users the matrix is run as.
func errnoUsers() []errnoPrefix {
	users := []errnoPrefix{{name: "user", uid: os.Geteuid()}}
	if root() {
		users[0].name = "root"
		users = append(users, errnoPrefix{
			name: "nobody", uid: 65534,
			argv: []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"},
		})
	}
	return users
}

// readOnly is a command prefix that mounts a read-only file system on DIR in a mount
// namespace of its own; nothing of it is left when the command ends.
func readOnly(dir string) []string {
	return []string{"unshare", "-m", "sh", "-c", `mount -t tmpfs none "$0" && mkdir "$0/d" && echo f >"$0/f" && chmod 666 "$0/f" && chmod 777 "$0" "$0/d" && mount -o remount,ro "$0" && exec "$@"`, dir}
}

// canMount tells whether readOnly works here: as root, but not in every container.
func canMount(b *ktest.Box) bool {
	argv := append(readOnly(b.Path("ro")), "true")
	return root() && exec.Command(argv[0], argv[1:]...).Run() == nil
}

// errnoBox has the tracee in the work folder, all owned by uid.
func errnoBox(t testing.TB, uid int) *ktest.Box {
	program := ktest.Tracee(t, "errno")
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) {
		b.Copy(t, program, "work/errno")
		b.Copy(t, program, "outside/errno")
		// Where nothing can be mounted on it, it is a folder like others, and empty again.
		if err := os.RemoveAll(b.Path("ro")); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(b.Path("ro"), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{"work", "work/errno", "outside", "outside/errno", "tmp", "home"} {
			if err := os.Lchown(b.Path(p), uid, uid); err != nil {
				t.Fatal(err)
			}
		}
	})
	b.Trace = b.Path("tmp/trace.jsonl") // where every user may write
	return b
}

// errnoRun gives the lines of a run by what was called on what.
func errnoRun(t testing.TB, b *ktest.Box, argv []string) (map[string]string, []string, ktest.Result) {
	t.Helper()
	r := b.Run(t, ktest.Cmd{Argv: argv, Timeout: 3 * time.Minute})
	if r.Status != 0 {
		t.Fatalf("%q: %v", argv, r)
	}
	out, order := map[string]string{}, []string{}
	for line := range strings.Lines(r.Stdout) {
		call, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		situation, result, ok := strings.Cut(rest, " ")
		if !ok {
			t.Fatalf("line %q of %q", line, argv)
		}
		key := call + " " + situation
		if _, twice := out[key]; twice {
			t.Fatalf("%s is there twice", key)
		}
		out[key] = result
		order = append(order, key)
	}
	if len(order) < 10000 {
		t.Fatalf("only %d lines of %q: %v", len(order), argv, r)
	}
	return out, order, r
}

// differences collects answers that are not what they should be, by the pair of answers.
type differences map[string][]string

func (d differences) add(key, bare, guarded string) {
	pair := "bare " + bare + ", guarded " + guarded
	d[pair] = append(d[pair], key)
}

func (d differences) report(t testing.TB) {
	t.Helper()
	for pair, keys := range d {
		t.Errorf("%s: %d, as in %s", pair, len(keys), strings.Join(keys[:min(len(keys), 25)], "; "))
	}
}

// TestErrno: an allowed call answers to the errno as without ptguard: every call that
// takes a name, on every kind of name, by root and by nobody.
func TestErrno(t *testing.T) {
	t.Parallel()
	for _, user := range errnoUsers() {
		t.Run(user.name, func(t *testing.T) {
			t.Parallel()
			b := errnoBox(t, user.uid)
			var prefix []string
			if canMount(b) {
				prefix = readOnly(b.Path("ro"))
			}
			prefix = append(prefix, user.argv...)
			command := func(mode string) []string { return []string{"./errno", mode, "fx", b.Tmp} }
			bare, order, _ := errnoRun(t, b, append(slices.Clone(prefix), command("all")...))
			for _, c := range []struct {
				name, mode string
				flags      []string
			}{
				{"open mode", "all", []string{"--mode", "open"}},
				{"default", "in", nil},
				{"strict", "in", []string{"--preset", "strict"}},
				// With a hide rule calls that only look are traced, too.
				{"hide", "in", []string{"--hide", b.Path("work/hidden")}},
			} {
				t.Run(c.name, func(t *testing.T) {
					b.Reset(t)
					got, _, r := errnoRun(t, b, append(slices.Clone(prefix), b.Guarded(t, c.flags, command(c.mode)...)...))
					wrong := differences{}
					for _, key := range order {
						if result, done := got[key]; done && result != bare[key] && !errnoMayDiffer(key, bare[key], result) {
							wrong.add(key, bare[key], result)
						}
					}
					wrong.report(t)
					// A pointer to nothing is the program's mistake, and no refusal.
					for _, d := range b.Denials(t) {
						if d.Rule == "guard unreadable" {
							t.Errorf("%s of %q: %s", d.Syscall, d.Path, d.Reason)
						}
					}
					if len(r.OwnStderr()) > 0 {
						t.Errorf("stderr: %s", r.OwnStderr())
					}
				})
			}
		})
	}
}

// errnoMayDiffer are the differences that are meant.
func errnoMayDiffer(key, bare, guarded string) bool {
	call, name, _ := strings.Cut(key, " ")
	switch {
	case guarded == "EPERM" && (name == "proc" || name == "proc-self"):
		// Guards hold in mode open too: files of proc that are not the tree's own are
		// kernel settings to it, and a call that would change one is refused.
		return true
	case bare != "ok" && guarded != "ok" && (strings.Contains(name, "proc") || strings.HasPrefix(name, "dev-fd")):
		// Names through the task's own /proc, which the kernel refuses too: ptguard is not the
		// task and cannot ask there, so it tells the first reason that it finds.
		return true
	case guarded == "EPERM" && (call == "setxattr_create" || strings.HasPrefix(call, "exec")):
		// Under a refusal: what is wrong besides the name (an attribute that is there, a loop of
		// scripts, a link that must not be followed, an unreadable argument) is not told.
		return bare == "EEXIST" || bare == "ELOOP" || bare == "EFAULT" || bare == "EACCES" && strings.HasPrefix(call, "execveat_empty")
	case strings.HasPrefix(call, "rename") && bare != "ok" && slices.Contains([]string{"ENOENT", "ENOTDIR", "EISDIR", "EBUSY", "ENAMETOOLONG"}, guarded):
		// A rename that fails for two reasons, and the policy would refuse one of its names: the
		// kernel, which has an order of its own, is asked only what may happen.
		return true
	case call == "watch_badfd" && bare == "EBADF" && (slices.Contains(errnoOfNames, guarded) || guarded == "EACCES"):
		// Which of two wrong arguments is told; only under a hide rule is the name looked at.
		return true
	case call == "utimensat_omit" && bare == "ok":
		// With UTIME_OMIT twice the kernel does nothing and looks at no name. Another thread
		// could change the times after that was seen, so the name is looked at here.
		return true
	case call == "execveat_empty" && (name == "empty@pipe" || name == "empty@removed") && bare == "EACCES" && guarded == "EPERM":
		// An object without a name may be executed by no rule but `memfd`.
		return true
	case (guarded == "EFAULT" || guarded == "ENAMETOOLONG") && (bare == "EINVAL" || bare == "E2BIG" || bare == "ERANGE" || strings.HasPrefix(call, "mknodat_")):
		// Two things are wrong, an argument and the pointer to the name (or its length):
		// ptguard finds the other one first. Neither way does anything happen.
		return errnoBadName(name)
	}
	return false
}

// errnoBadName tells whether a situation is a name that cannot be read.
func errnoBadName(name string) bool {
	switch name {
	case "null", "null@badfd", "null@dir", "null@file", "one", "first-page", "prot-none", "unmapped", "kernel", "not-canonical", "last-page",
		"no-end", "no-end-full-page", "behind-the-file", "path-4096", "path-4097", "path-long-two-pages":
		return true
	}
	return false
}

// errnoOfNames are the answers of an act that fails on its names (POLICY 3): they stay
// what they are under a refusal, and with them those of arguments that lead nowhere.
var errnoOfNames = []string{"ENOENT", "ENOTDIR", "EEXIST", "ELOOP", "ENAMETOOLONG", "EBADF", "EFAULT"}

// outsideOf is the snapshot of the folder that is refused.
func outsideOf(t testing.TB, b *ktest.Box) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(b.Snapshot(t)) {
		if strings.HasPrefix(line, "/outside/") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// TestErrnoRefused: outside the writable roots, where the policy denies, and where it
// hides: what would have reached the object is refused, what fails on names fails as
// before, and nothing changes.
func TestErrnoRefused(t *testing.T) {
	t.Parallel()
	for _, user := range errnoUsers() {
		for _, c := range []struct {
			name  string
			flags func(b *ktest.Box) []string
			errno string // of what is refused
		}{
			{name: "outside", errno: "EPERM"},
			{name: "denied", errno: "EPERM", flags: func(b *ktest.Box) []string { return []string{"--deny", b.Path("outside/fx")} }},
			{name: "strict", errno: "EPERM", flags: func(b *ktest.Box) []string { return []string{"--preset", "strict", "--read", b.Path("outside")} }},
		} {
			t.Run(user.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				b := errnoBox(t, user.uid)
				command := func(mode string) []string {
					return append(slices.Clone(user.argv), b.Path("outside/errno"), mode, b.Path("outside/fx"), b.Tmp)
				}
				bare, order, _ := errnoRun(t, b, command("in"))
				if r := b.Run(t, ktest.Cmd{Argv: command("build")}); r.Status != 0 {
					t.Fatalf("build the fixtures: %v", r)
				}
				var flags []string
				if c.flags != nil {
					flags = c.flags(b)
				}
				before := outsideOf(t, b)
				got, _, _ := errnoRun(t, b, slices.Concat(user.argv, b.Guarded(t, flags, b.Path("outside/errno"), "keep", b.Path("outside/fx"), b.Tmp)))
				if after := outsideOf(t, b); after != before {
					t.Errorf("refused, but the box changed\n=== before\n%s\n=== after\n%s", before, after)
				}
				wrong, refused := differences{}, 0
				for _, key := range order {
					was, is := bare[key], got[key]
					switch {
					case c.name == "denied" && (strings.Contains(key, "null@") || strings.Contains(key, "empty@")):
						// The descriptors are others: the directories and files could not be opened.
					case is == was || errnoMayDiffer(key, was, is):
					case is == c.errno && !slices.Contains(errnoOfNames, was):
						refused++ // it would have reached the object, or failed on it
					default:
						wrong.add(key, was, is)
					}
				}
				wrong.report(t)
				if refused < 500 {
					t.Errorf("only %d calls were refused", refused)
				}
			})
		}
	}
}

// TestErrnoAbsent: programs that look for what is not there, where the policy would refuse
// it if it were: the bare answer, and not a word of ptguard.
func TestErrnoAbsent(t *testing.T) {
	t.Parallel()
	for name, argv := range map[string][]string{
		"rm -f":     {"rm", "-f", "/run/ptguard-e2e-absent.pid", "../outside/absent", "../outside/absent/x"},
		"ls -l":     {"ls", "-l", "/etc/passwd"}, // asks for nscd's socket
		"id":        {"id"},
		"sdk":       {"sh", "-c", "cat ~/.aws/config ~/.aws/credentials ~/.netrc ~/.docker/config.json; test -r ~/.aws/config; test -e ~/.kube/config; true"},
		"sdk write": {"sh", "-c", "echo x 2>/dev/null >~/.aws/config; mkdir ~/.absent/x; rmdir ~/.absent; ln -s x ~/.absent/y; true"},
		"python":    {"python3", "-c", "import os\nfor p in ('~/.aws/config', '~/.aws/credentials'):\n try: open(os.path.expanduser(p))\n except OSError as e: print(e.errno)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ktest.Same(t, ktest.Case{Argv: argv})
		})
	}
}

// TestErrnoNumbers: the calls that name their object by a number, with right and wrong words.
// Where two words are wrong, which of them is told may differ, and nothing else.
func TestErrnoNumbers(t *testing.T) {
	t.Parallel()
	act := ktest.Tracee(t, "errnonumbers")
	b := ktest.NewBox(t, nil)
	results := func(r ktest.Result) (out map[string]string, order []string) {
		if r.Status != 0 {
			t.Fatal(r)
		}
		out = map[string]string{}
		for line := range strings.Lines(r.Stdout) {
			i := strings.LastIndexByte(strings.TrimSuffix(line, "\n"), ' ')
			out[line[:i]] = strings.TrimSpace(line[i:])
			order = append(order, line[:i])
		}
		return out, order
	}
	bare, order := results(b.Bare(t, act, b.Path("work/x")))
	if len(order) < 600 {
		t.Fatalf("only %d lines", len(order))
	}
	for _, flags := range [][]string{{"--mode", "open"}, nil} {
		b.Reset(t)
		r := b.Guard(t, flags, act, b.Path("work/x"))
		got, _ := results(r)
		wrong := differences{}
		for _, key := range order {
			two := bare[key] != "ok" && got[key] != "ok" && (!strings.HasSuffix(key, " 0") || strings.Contains(key, " gone "))
			// fsetxattr(2) takes AT_FDCWD for the current directory (Linux 6.13); a read of no
			// bytes looks at no process.
			if got[key] == bare[key] || two || strings.HasPrefix(key, "fsetxattr cwd ") || key == "fremovexattr dir 0" || key == "process_vm_readv gone 1" {
				continue
			}
			wrong.add(key, bare[key], got[key])
		}
		wrong.report(t)
		if lines := r.GuardLines(); len(lines) > 0 {
			t.Errorf("%q", lines)
		}
	}
}
