// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ptguard/internal/ktest"
)

// attacks is the folder of the suite; its README.md says how the tables are read.
const attacks = "../../testdata/attacks"

// attack is a line of a table.
type attack struct {
	id, file, note string
	place          string // of the line
	flags          []string
	root, nobody   bool // who can try it; both unless a tag says one
	race           bool
	hard           bool // the racer is not asked for wins against the plain build
}

// readAttacks reads the tables: the attacks, and the reasons of items that have none.
func readAttacks(t *testing.T) (all []attack, without map[string]string) {
	t.Helper()
	tables, err := filepath.Glob(attacks + "/table-*.txt")
	if err != nil || len(tables) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	without = map[string]string{}
	for _, table := range tables {
		n := 0
		for line := range strings.Lines(text(t, table)) {
			n++
			place := fmt.Sprintf("%s:%d", filepath.Base(table), n)
			words, note, _ := strings.Cut(strings.TrimSpace(line), "#")
			f := strings.Fields(words)
			switch {
			case len(f) == 0:
			case len(f) < 2 || f[1] == "-" && len(f) < 3:
				t.Errorf("%s: want ID FILE FLAGS… or ID - REASON", place)
			case f[1] == "-":
				without[f[0]] = strings.Join(f[2:], " ")
			default:
				a := attack{id: f[0], file: f[1], note: strings.TrimSpace(note), place: place, root: true, nobody: true}
				for _, w := range f[2:] {
					switch w {
					case "[root]":
						a.nobody = false
					case "[nobody]":
						a.root = false
					case "[any]":
					case "[race]":
						a.race = true
					case "[hard]":
						a.hard = true
					default:
						a.flags = append(a.flags, w)
					}
				}
				if a.hard && a.note == "" {
					t.Errorf("%s: a racer that need not win against the plain build needs a reason", place)
				}
				all = append(all, a)
			}
		}
	}
	return all, without
}

func text(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestAttackTable: each item of the catalogue of attacks has a program or a reason why
// not, and each program stands in a table.
func TestAttackTable(t *testing.T) {
	t.Parallel()
	all, without := readAttacks(t)
	var ids []string
	for line := range strings.Lines(text(t, attacks+"/ids.txt")) {
		id, _, _ := strings.Cut(line, " ")
		ids = append(ids, id)
		tried := slices.ContainsFunc(all, func(a attack) bool { return a.id == id })
		if !tried && without[id] == "" {
			t.Errorf("%s has neither a program nor a reason", strings.TrimSpace(line))
		}
	}
	for _, a := range all {
		if !slices.Contains(ids, a.id) {
			t.Errorf("%s: %s is no item of ids.txt", a.place, a.id)
		}
	}
	files, err := filepath.Glob(attacks + "/*.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.ContainsFunc(all, func(a attack) bool { return a.file == filepath.Base(file) }) {
			t.Errorf("%s is in no table", file)
		}
	}
	if len(all) < 100 {
		t.Errorf("%d attacks, want 100", len(all))
	}
}

// TestAttacks tries each attack bare, where it must succeed, and guarded, where it must be
// refused. A racer must also win ten times against a build that checks and continues.
func TestAttacks(t *testing.T) {
	t.Parallel()
	all, _ := readAttacks(t)
	results := newResults(t)
	for _, a := range all {
		if root() && !a.root || !root() && !a.nobody || onlyRacers() && !a.race {
			continue
		}
		t.Run(a.id+"/"+strings.TrimSuffix(a.file, ".c"), func(t *testing.T) {
			t.Parallel()
			results.add(a, a.try(t))
		})
	}
	t.Cleanup(func() { // after all of them
		if tried, not := results.counts(); contained() && !onlyRacers() && tried+not > 100 && (not == 0 || tried < 3*not) {
			t.Errorf("%d attacks were tried in the container and %d could not be: want most of them, but not all", tried, not)
		}
	})
}

// raceSeconds is how long a racer runs against the real ptguard.
func raceSeconds() string {
	if s := os.Getenv("PTGUARD_RACE_SECONDS"); s != "" {
		return s
	}
	return "1"
}

// raceTries is how often a racer tries at most against the real ptguard; empty: until its
// time is over.
func raceTries() string { return os.Getenv("PTGUARD_RACE_TRIES") }

// plainSeconds is how long a racer may take for its ten wins.
const plainSeconds = "60"

// provedElsewhere leaves out the race against the plain build: the run is one of several
// that differ only in the ptguard under test.
func provedElsewhere() bool { return os.Getenv("PTGUARD_ATTACK_PLAIN") == "off" }

// onlyRacers leaves out what is no race, for long runs.
func onlyRacers() bool { return os.Getenv("PTGUARD_ATTACK_ONLY") == "race" }

// contained tells that the test itself runs in what stands for a container, where some acts
// are refused to everyone (testdata/tracees/contained.c).
func contained() bool { return os.Getenv("PTGUARD_TEST_CONTAINED") != "" }

// try runs one attack and tells what came of it.
func (a *attack) try(t *testing.T) string {
	program := ktest.Attack(t, a.file)
	b := ktest.NewBox(t, func(t testing.TB, b *ktest.Box) { a.fill(t, b, program) })
	ports := listenPorts(t, b)
	words := strings.NewReplacer("{work}", b.Work, "{outside}", b.Outside, "{root}", b.Root, "{ok}", ports[0], "{bad}", ports[1], "{tcp}", "tcp 127.0.0.1:"+ports[1])
	flags := []string{"--deny", b.Work + "/secret", "--deny", b.Work + "/denied", "--deny-exec", b.Work + "/victim", "--connect", "127.0.0.1:" + ports[0]}
	for _, f := range a.flags {
		flags = append(flags, words.Replace(f))
	}
	run := func(seconds, wins, tries string, argv ...string) ktest.Result {
		t.Helper()
		b.Reset(t)
		closeSockets := listenUnix(t, b)
		defer closeSockets()
		b.Env = []string{
			"ATTACK_OK=" + ports[0], "ATTACK_BAD=" + ports[1], "ATTACK_WORK=" + b.Work, "ATTACK_OUTSIDE=" + b.Outside,
			"ATTACK_RUNNER=" + strconv.Itoa(os.Getpid()), "ATTACK_SECONDS=" + seconds, "ATTACK_WINS=" + wins,
		}
		if tries != "" {
			b.Env = append(b.Env, "ATTACK_TRIES="+tries)
		}
		before := kept(t, b)
		// Descriptors that a careless parent left open: the secret, and its folder.
		argv = append([]string{"sh", "-c", `exec "$@" 7<denied/file 8<denied`, "sh"}, argv...)
		r := b.Run(t, ktest.Cmd{Argv: argv})
		if argv[4] == ktest.Binary(t) {
			after := kept(t, b)
			for name := range before {
				if after[name] != before[name] {
					t.Errorf("what the policy denies has changed: %s\nbefore: %s\nafter:  %s", name, before[name], after[name])
				}
			}
			for name := range after {
				if before[name] == "" {
					t.Errorf("what the policy denies has a new member: %s", name)
				}
			}
		}
		return r
	}
	if a.race && provedElsewhere() && !contained() {
		// That it can win has been shown.
	} else if r := run(plainSeconds, "10", "", program); !strings.HasPrefix(r.Stdout, "SUCCEEDED\n") {
		if !contained() {
			t.Fatalf("without ptguard the act should succeed: %v", r)
		}
		if r := run(raceSeconds(), "1", raceTries(), b.Guarded(t, flags, program)...); strings.HasPrefix(r.Stdout, "SUCCEEDED\n") {
			t.Fatalf("what the container refuses succeeds under ptguard: %v", r)
		}
		return prevented
	}
	if a.race && !a.hard && !provedElsewhere() {
		argv := append(append([]string{ktest.PlainBinary(t), "run", "--trace", b.Trace}, flags...), "--", program)
		r := run(plainSeconds, "10", "", argv...)
		if wins, tries := winsOf(r); wins < 10 {
			t.Errorf("%d wins in %d tries against a build that checks and continues: this racer proves nothing: %v", wins, tries, r)
		}
	}
	r := run(raceSeconds(), "1", raceTries(), b.Guarded(t, flags, program)...)
	if _, tries := winsOf(r); a.race && tries < 3 { // a machine too busy for so short a race
		r = run("20", "1", "100", b.Guarded(t, flags, program)...)
	}
	if !strings.HasPrefix(r.Stdout, "REFUSED\n") {
		t.Errorf("under ptguard the act should be refused: %v", r)
		return "NOT REFUSED"
	}
	result := "refused"
	if _, detail, _ := strings.Cut(strings.TrimSpace(r.Stdout), "\n"); detail != "" {
		result += " (" + detail + ")"
	}
	if wins, tries := winsOf(r); a.race && (wins != 0 || tries < 3) {
		t.Errorf("want 0 wins in some tries: %v", r)
	}
	return result
}

var raceLine = regexp.MustCompile(`(?m)^WINS (\d+) TRIES (\d+)$`)

// winsOf reads what a racer counted.
func winsOf(r ktest.Result) (wins, tries int) {
	if m := raceLine.FindStringSubmatch(r.Stdout); m != nil {
		wins, _ = strconv.Atoi(m[1])
		tries, _ = strconv.Atoi(m[2])
	}
	return wins, tries
}

// victims are the files v0, v1, … of denied and denieD, and the files p0, p1, … and folders d0,
// d1, … of outside, for racers that can win once on each.
const victims = 20

// fill makes what attack.h describes.
func (a *attack) fill(t testing.TB, b *ktest.Box, program string) {
	for name, content := range map[string]string{"denied": "SECRET\n", "denieD": "ALLOWED\n"} {
		b.Write(t, "work/"+name+"/file", content)
		if err := os.Mkdir(b.Path("work/"+name+"/sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range victims {
			b.Write(t, fmt.Sprintf("work/%s/v%d", name, i), content)
		}
	}
	b.Write(t, "work/secret", "SECRET\n")
	b.Write(t, "work/secreT", "ALLOWED\n")
	b.Write(t, "outside/file", "OUTSIDE\n")
	for i := range victims {
		b.Write(t, fmt.Sprintf("outside/p%d", i), "OUTSIDE\n")
		if err := os.Mkdir(b.Path(fmt.Sprintf("outside/d%d", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.Copy(t, program, "work/victim")
	b.Copy(t, program, "work/victiM")
	b.Write(t, "policy.yaml", "ptguard: 1\nexec:\n  deny:\n    - { program: victiM, args: [secret], reason: \"not with this word\" }\nnet:\n  deny:\n    - { address: \"unix "+b.Work+"/denieD/sock\", reason: \"nobody's business\" }\n    - { address: \"unix "+b.Work+"/private/dgram\", reason: \"nobody's business\" }\n")
}

// kept describes what no attack may change: what is denied, and what lies outside. By name.
func kept(t testing.TB, b *ktest.Box) map[string]string {
	out := map[string]string{}
	for _, dir := range []string{"work/secret", "work/denied", "outside"} {
		err := filepath.WalkDir(b.Path(dir), func(path string, _ fs.DirEntry, err error) error {
			var st syscall.Stat_t
			if err == nil {
				err = syscall.Lstat(path, &st)
			}
			data := []byte{}
			if st.Mode&syscall.S_IFMT == syscall.S_IFREG && err == nil {
				data, err = os.ReadFile(path)
			}
			out[path] = fmt.Sprintf("mode %o owner %d:%d links %d inode %d changed %d.%09d text %q error %v", st.Mode, st.Uid, st.Gid, st.Nlink, st.Ino, st.Ctim.Sec, st.Ctim.Nsec, data, err)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	return out
}

// listenPorts gives two ports of 127.0.0.1, each with a TCP listener and a UDP echo.
func listenPorts(t testing.TB, b *ktest.Box) (ports [2]string) {
	t.Helper()
	for i := range ports {
		var udp net.PacketConn
		var tcp net.Listener
		var err error
		for range 20 { // the port may be in use for the other protocol
			if udp, err = net.ListenPacket("udp4", "127.0.0.1:0"); err != nil {
				continue
			}
			if tcp, err = net.Listen("tcp4", udp.LocalAddr().String()); err == nil {
				break
			}
			udp.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tcp.Close(); udp.Close() })
		_, ports[i], _ = net.SplitHostPort(udp.LocalAddr().String())
		go acceptAll(tcp)
		go func() {
			buf := make([]byte, 2048)
			for {
				n, from, err := udp.ReadFrom(buf)
				if err != nil {
					return
				}
				_, _ = udp.WriteTo(buf[:n], from)
			}
		}()
	}
	return ports
}

// listenUnix listens on the two unix sockets of the work folder.
func listenUnix(t testing.TB, b *ktest.Box) (stop func()) {
	t.Helper()
	var all []net.Listener
	for _, name := range []string{"denied", "denieD"} {
		l, err := net.Listen("unix", b.Path("work/"+name+"/sock"))
		if err != nil {
			t.Fatal(err)
		}
		if name == "denied" {
			go handOut(l, b.Path("work/denied/file"))
		} else {
			go acceptAll(l)
		}
		all = append(all, l)
	}
	return func() {
		for _, l := range all {
			l.Close()
		}
	}
}

// handOut sends everyone who comes a descriptor of a file.
func handOut(l net.Listener, file string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if f, err := os.Open(file); err == nil {
			_, _, _ = c.(*net.UnixConn).WriteMsgUnix([]byte{0}, syscall.UnixRights(int(f.Fd())), nil)
			f.Close()
		}
		c.Close()
	}
}

// acceptAll accepts and closes, until the listener is closed.
func acceptAll(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		c.Close()
	}
}

// results collects what came of each attack, for PTGUARD_ATTACK_RESULTS.
type results struct {
	mu    sync.Mutex
	lines []string
}

func newResults(t *testing.T) *results {
	r := &results{}
	t.Cleanup(func() {
		name := os.Getenv("PTGUARD_ATTACK_RESULTS")
		if name == "" {
			return
		}
		slices.Sort(r.lines)
		head := fmt.Sprintf("# %s, %s, uid %d, ptguard built with tags %q, contained %v: %d attacks\n",
			time.Now().UTC().Format(time.DateOnly), kernelRelease(), os.Geteuid(), os.Getenv("PTGUARD_TEST_TAGS"), contained(), len(r.lines))
		if err := os.WriteFile(name, []byte(head+strings.Join(r.lines, "")), 0o644); err != nil {
			t.Error(err)
		}
	})
	return r
}

// prevented is the result of an attack that a container refuses without ptguard.
const prevented = "the container refuses it"

// counts tells how many attacks were tried, and how many could not be.
func (r *results) counts() (tried, not int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.lines {
		if strings.HasSuffix(line, prevented+"\n") {
			not++
		}
	}
	return len(r.lines) - not, not
}

func (r *results) add(a attack, result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf("%-4s %-28s %s\n", a.id, a.file, result))
}

func kernelRelease() string {
	data, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(string(data))
}
