// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/readfile"
	"ptguard/rules"
)

// facts are what the tree has done that speaks for a call: what it made, which terminals
// and sockets are its own. They are looked up only when a call would be refused without
// them, so they cost nothing on the allow path.
type facts struct {
	made map[string]struct{} // canonical names of directories and sockets the tree made
	// foreign are the names beneath made directories of what was there before and was moved
	// or linked there. files: made has files too, for the policy asks.
	foreign map[string]struct{}
	files   bool
	tty     []uint64 // rdev of the terminals ptguard was started on
	// bound are the inodes of internet sockets that the tree was allowed to bind.
	bound map[uint64]bool
	// zombies are processes of the tree that have ended, the latest few thousand: until its
	// parent has waited for it, one can still be signalled.
	zombies map[int]struct{}
	order   []int
	// kernelFS are the devices of the file systems that are knobs of the kernel. The tree
	// cannot mount more of them.
	kernelFS map[uint64]bool
}

// knobs are file system types whose files act on the kernel.
var knobs = []string{"proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "efivarfs", "bpf", "configfs", "binfmt_misc", "pstore", "resctrl", "selinuxfs", "fusectl"}

// maxMade bounds the memory of made: beyond it the tree's own objects are no longer known
// as such, which only refuses more.
const maxMade = 1 << 16

// newFacts begins with what the mounts say (proc_pid_mountinfo(5)).
func newFacts(mounts []byte) (facts, error) {
	f := facts{made: map[string]struct{}{}, foreign: map[string]struct{}{}, bound: map[uint64]bool{}, zombies: map[int]struct{}{}, kernelFS: map[uint64]bool{}}
	for line := range strings.Lines(string(mounts)) {
		before, after, ok := strings.Cut(line, " - ") // proc_pid_mountinfo(5)
		fields := strings.Fields(before)
		kind, _, _ := strings.Cut(after, " ")
		if !ok || len(fields) < 3 || !slices.Contains(knobs, kind) {
			continue
		}
		major, minor, _ := strings.Cut(fields[2], ":")
		a, errA := strconv.ParseUint(major, 10, 32)
		b, errB := strconv.ParseUint(minor, 10, 32)
		if errA != nil || errB != nil {
			return f, fmt.Errorf("find the kernel's own file systems: %q", line)
		}
		f.kernelFS[unix.Mkdev(uint32(a), uint32(b))] = true
	}
	for fd := range 3 {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && unix.Major(st.Rdev) != 0 {
			f.tty = append(f.tty, st.Rdev)
		}
	}
	return f, nil
}

// maxZombies bounds what is remembered of ended processes.
const maxZombies = 4096

func (f *facts) ended(pid int) {
	if len(f.order) == maxZombies {
		delete(f.zombies, f.order[0])
		f.order = append(f.order[:0], f.order[1:]...)
	}
	f.zombies[pid] = struct{}{}
	f.order = append(f.order, pid)
}

// isZombie tells whether a pid is that of an ended process of the tree that still waits for
// its parent: a process that has taken the number since is no zombie.
func (f *facts) isZombie(pid int) bool {
	if _, ok := f.zombies[pid]; !ok {
		return false
	}
	return strings.HasPrefix(statusField(pid, "State"), "Z")
}

// owner says whose process a pid or thread id is.
func (l *loop) owner(pid int) rules.Owner {
	if l.tasks[pid] != nil {
		if !l.reaches(l.actor, pid) {
			return rules.OwnerScoped
		}
		return rules.OwnerTree
	}
	if pid == os.Getpid() {
		return rules.OwnerGuard
	}
	if isThread(os.Getpid(), pid) {
		return rules.OwnerGuard
	}
	if l.facts.isZombie(pid) {
		return rules.OwnerTree
	}
	return rules.OwnerOutsider
}

// allowed books what the call at hand is about to make, move or remove. What would make more
// be taken for made is booked when the call has succeeded, for it may fail on what is there.
func (l *loop) allowed(s stopped) {
	l.meetSealed()
	s.task.books = s.task.books[:0]
	onSuccess := func(b booking) {
		b.facts = &l.facts
		s.task.books = append(s.task.books, b)
	}
	var source string
	for i := range l.judged {
		r := &l.judged[i].request
		name := r.File.Path
		switch {
		case r.Access&decode.Bind != 0 && r.Addr.IP.IsValid():
			if inode := socketInode(s.tid, int(l.judged[i].object.Dirfd)); inode != 0 && len(l.facts.bound) < maxMade {
				onSuccess(booking{book: (*facts).bind, inode: inode})
			}
		case r.Act == rules.ActMkdir, r.Access&decode.Bind != 0 && name != "":
			l.facts.add(name)
		case r.Act == rules.ActRenameSource:
			source = name
		case r.Act == rules.ActRenameTarget:
			l.facts.mayMove(source, name)
			onSuccess(booking{book: (*facts).moved, from: source, to: name})
		case r.Act == rules.ActExchange:
			l.facts.alien(name)
			onSuccess(booking{book: (*facts).exchanged, to: name})
		case r.Act == rules.ActLinkTarget:
			l.facts.alien(name)
		case r.Access&decode.Remove != 0:
			onSuccess(booking{book: (*facts).removed, to: name})
		case l.facts.files && r.Access&decode.Create != 0 && !r.File.Exists:
			l.facts.add(name)
		}
	}
}

func (f *facts) bind(b *booking)  { f.bound[b.inode] = true }
func (f *facts) moved(b *booking) { f.move(b.from, b.to) }

func (f *facts) exchanged(b *booking) {
	f.forget(b.to)
	f.alien(b.to)
}

func (f *facts) removed(b *booking) {
	delete(f.made, b.to)
	delete(f.foreign, b.to)
}

func (f *facts) add(name string) {
	if len(f.made) < maxMade {
		f.made[name] = struct{}{}
		delete(f.foreign, name)
	}
}

// mayMove books of a rename on its way what holds however it ends: what was there before stays so.
func (f *facts) mayMove(from, to string) {
	if !f.isMade(from) {
		f.alien(to)
	}
	var beneath []string
	for name := range f.foreign {
		if strings.HasPrefix(name, from+"/") {
			beneath = append(beneath, to+name[len(from):])
		}
	}
	for _, name := range beneath {
		f.alien(name)
	}
}

// move books a rename: what lies beneath goes along.
func (f *facts) move(from, to string) {
	ours := f.isMade(from)
	f.forget(to)
	for _, names := range []map[string]struct{}{f.made, f.foreign} {
		for name := range names {
			if strings.HasPrefix(name, from+"/") {
				delete(names, name)
				names[to+name[len(from):]] = struct{}{}
			}
		}
		delete(names, from)
	}
	if ours {
		f.add(to)
	} else {
		f.alien(to)
	}
}

// forget drops what is known of a name and of all beneath.
func (f *facts) forget(name string) {
	for _, names := range []map[string]struct{}{f.made, f.foreign} {
		delete(names, name)
		for n := range names {
			if strings.HasPrefix(n, name+"/") {
				delete(names, n)
			}
		}
	}
}

// alien books that what has this name now was there before, so that being beneath a made
// directory says nothing of it.
func (f *facts) alien(name string) {
	if !f.isMade(name) {
		return
	}
	if len(f.foreign) >= maxMade { // too many to remember: then nothing is known as made
		clear(f.made)
		clear(f.foreign)
		return
	}
	f.foreign[name] = struct{}{}
}

// isMade tells whether the tree made the object or a directory above it.
func (f *facts) isMade(name string) bool {
	if len(f.made) == 0 {
		return false
	}
	for ; len(name) > 1; name = path.Dir(name) {
		if _, ok := f.foreign[name]; ok {
			return false
		}
		if _, ok := f.made[name]; ok {
			return true
		}
	}
	return false
}

// complete adds the costly facts to a request that was refused without them. It tells
// whether any was found.
func (f *facts) complete(l *loop, s stopped, r *rules.Request) bool {
	found := false
	if r.File.Path != "" && !r.File.Made && f.isMade(r.File.Path) {
		r.File.Made, found = true, true
	}
	if r.File.Mode&unix.S_IFMT == unix.S_IFCHR && !r.File.OwnPTY && f.ownTerminal(l, s, &r.File) {
		r.File.OwnPTY, found = true, true
	}
	if r.Access&(decode.Connect|decode.Bind) != 0 && !r.Addr.Tree && l.treeServes(&r.Addr) {
		r.Addr.Tree, found = true, true
	}
	return found
}

// ownTerminal: the terminal ptguard was started on, the controlling terminal of the task,
// or a pseudo-terminal whose master the tree holds.
func (f *facts) ownTerminal(l *loop, s stopped, file *rules.File) bool {
	if slices.Contains(f.tty, file.Rdev) {
		return true
	}
	index, ok := strings.CutPrefix(file.Path, "/dev/pts/")
	if !ok {
		return false
	}
	if controllingTerminal(s.proc.pid) == file.Rdev {
		return true
	}
	found, _ := l.anyFD(func(pid int, fd, target string) bool {
		if !strings.HasSuffix(target, "/ptmx") {
			return false
		}
		text, err := readfile.All(procPath(pid, "fdinfo/"+fd))
		return err == nil && strings.Contains(string(text), "tty-index:\t"+index+"\n")
	})
	return found
}

// controllingTerminal is field 7 of /proc/PID/stat as a device number, 0 if there is none.
func controllingTerminal(pid int) uint64 {
	text, err := readfile.All(procPath(pid, "stat"))
	if err != nil {
		return 0
	}
	_, rest, ok := cutLast(string(text), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 5 {
		return 0
	}
	nr, err := strconv.ParseInt(fields[4], 10, 64)
	if err != nil {
		return 0
	}
	return uint64(uint32(nr))
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// anyFD looks through the descriptors of every process of the tree. An error tells that those of some
// process could not be seen, and that none of the others is it.
func (l *loop) anyFD(match func(pid int, fd, target string) bool) (found bool, err error) {
	seen := map[int]bool{}
	for _, t := range l.tasks {
		pid := t.proc.pid
		if seen[pid] {
			continue
		}
		seen[pid] = true
		entries, unseen := os.ReadDir(procPath(pid, "fd"))
		if unseen != nil && !gone(unseen) {
			err = unseen
		}
		for _, e := range entries {
			target, unseen := os.Readlink(procPath(pid, "fd/"+e.Name()))
			if unseen == nil && match(pid, e.Name(), target) {
				return true, nil
			}
			if unseen != nil && !gone(unseen) {
				err = unseen
			}
		}
	}
	return false, err
}

// treeServes tells whether a socket of the tree is bound to the address.
func (l *loop) treeServes(a *rules.Addr) bool {
	switch {
	case a.Abstract != "" || a.Nameless:
		return l.holdsAll(abstractInodes(a.Abstract))
	case a.Family == unix.AF_INET, a.Family == unix.AF_INET6:
		// All, for the unspecified address leads to either loopback address.
		return l.holdsAll(inetInodes(a))
	}
	return false
}

// holdsAll tells whether there are sockets in the set and each is open in the tree.
func (l *loop) holdsAll(inodes map[string]bool) bool {
	found := map[string]bool{}
	if len(inodes) == 0 {
		return false
	}
	all, _ := l.anyFD(func(_ int, _, target string) bool {
		if inodes[target] {
			found[target] = true
		}
		return len(found) == len(inodes)
	})
	return all
}

// abstractInodes lists, as link texts, the sockets that may be bound to an abstract name:
// all whose line ends like it. /proc/net/unix shows a NUL as @ and a newline as it is, so a
// name can look like another and even forge a line, but it cannot hide the real one.
func abstractInodes(name string) map[string]bool {
	out := map[string]bool{}
	raw, err := readfile.All("/proc/net/unix")
	if err != nil {
		return out
	}
	text, shown := string(raw), " @"+strings.ReplaceAll(name, "\x00", "@")+"\n"
	for from := 0; ; {
		i := strings.Index(text[from:], shown)
		if i < 0 {
			return out
		}
		before := text[:from+i]
		inode := before[strings.LastIndexByte(before, ' ')+1:]
		if inode != "0" { // a connection that waits to be accepted
			out["socket:["+inode+"]"] = true
		}
		from += i + 1
	}
}

// unixServed tells whether some socket is bound to this path; bound names may be relative,
// so the last component decides, which errs towards "served".
func unixServed(name string) bool {
	return len(unixInodes(func(p string) bool { return path.Base(p) == path.Base(name) })) > 0
}

// unixInodes lists the sockets of /proc/net/unix whose name matches, as link texts.
func unixInodes(match func(name string) bool) map[string]bool {
	out := map[string]bool{}
	err := eachLine("/proc/net/unix", func(line string) {
		fields := strings.SplitN(line, " ", 8) // Num RefCount Protocol Flags Type St Inode Path
		rest := strings.Fields(line)
		if len(fields) < 8 || len(rest) < 8 {
			return
		}
		_, name, _ := strings.Cut(line, " "+rest[6]+" ")
		if match(name) {
			out["socket:["+rest[6]+"]"] = true
		}
	})
	if err != nil {
		return nil
	}
	return out
}

// inetInodes lists the sockets bound to the address's port whose own address would take
// what is sent to it. Of TCP only those that listen: the others that have the port are
// connections, which nobody connects to, and come and go between this look and the next. None
// are known if some cannot be seen: what is left out could be somebody else's.
func inetInodes(a *rules.Addr) map[string]bool {
	out := map[string]bool{}
	var files []string
	if a.Proto != rules.ProtoUDP {
		files = append(files, "/proc/net/tcp", "/proc/net/tcp6")
	}
	if a.Proto != rules.ProtoTCP {
		files = append(files, "/proc/net/udp", "/proc/net/udp6")
	}
	const listens = "0A" // TCP_LISTEN
	for _, file := range files {
		tcp := strings.HasPrefix(file, "/proc/net/tcp")
		err := eachLine(file, func(line string) {
			f := strings.Fields(line)
			if len(f) < 10 || tcp && f[3] != listens {
				return
			}
			ip, port, ok := procAddr(f[1])
			if ok && f[9] != "0" && port == a.Port && (ip == a.IP || ip.IsUnspecified() || a.IP.IsUnspecified()) {
				out["socket:["+f[9]+"]"] = true
			}
		})
		if err != nil {
			return nil
		}
	}
	return out
}

// procAddr parses "0100007F:1F90": 32-bit words in host order, port in hex.
func procAddr(text string) (netip.Addr, uint16, bool) {
	host, portText, ok := strings.Cut(text, ":")
	port, err := strconv.ParseUint(portText, 16, 16)
	if !ok || err != nil || len(host)%8 != 0 {
		return netip.Addr{}, 0, false
	}
	var raw []byte
	for i := 0; i < len(host); i += 8 {
		w, err := strconv.ParseUint(host[i:i+8], 16, 32)
		if err != nil {
			return netip.Addr{}, 0, false
		}
		raw = append(raw, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
	}
	ip, ok := netip.AddrFromSlice(raw)
	return ip.Unmap(), uint16(port), ok
}

// eachLine reads a file of /proc/net. One that is not there has no lines: tcp6 without IPv6.
func eachLine(file string, f func(line string)) error {
	r, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		f(sc.Text())
	}
	return sc.Err()
}
