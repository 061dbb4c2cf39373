// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/image"
	"ptguard/internal/resolve"
	"ptguard/rules"
)

// examineChain adds what follows from the program at hand: each #! interpreter and the ELF
// loader. They are judged like the program itself.
func (l *loop) examineChain(s stopped) (syscall.Errno, error) {
	for depth := 0; ; depth++ {
		j := &l.judged[len(l.judged)-1]
		file := &j.request.File
		if file.Mode&unix.S_IFMT != unix.S_IFREG {
			break // a directory, a device: EACCES is the kernel's answer
		}
		next, err := nextImage(s.tid, &j.resolved)
		if errors.Is(err, errLater) {
			return 0, err
		}
		if err != nil {
			// Without its first bytes we would not know what runs, and its process would
			// be closed to us (mode 0111, techniques K21).
			return errnoOf(err), nil
		}
		if next.Path == "" || depth > image.MaxScripts {
			break
		}
		o := &decode.Object{Kind: decode.Path, Access: decode.Exec, Dirfd: unix.AT_FDCWD, Path: next.Path}
		l.judged = append(l.judged, judgement{object: o, request: rules.Request{Access: decode.Exec}})
		j = &l.judged[len(l.judged)-1]
		j.resolved.FD, j.resolved.Parent = -1, -1
		bare, err := l.examinePath(s, j)
		if bare != 0 || err != nil {
			return bare, err
		}
		j.request.Program, j.request.Argv = false, nil
		j.request.Loader = next.Loader
		if next.Loader {
			break
		}
	}
	s.task.argv = l.call.Argv // only read if a rule looks at them
	s.images = s.images[:0]
	for i := range l.judged {
		id := l.judged[i].request.File.Inode
		s.images = append(s.images, fileID{id.Dev, id.Ino})
	}
	return 0, nil
}

// judgeImage looks, at the exec event, at the file that really runs. If it is one of those
// that the entry was decided on, nothing has changed; else somebody exchanged the file or
// the name meanwhile (or binfmt_misc chose a handler), and it is decided now. The new image
// has not run an instruction, so killing it leaves no effect.
func (l *loop) judgeImage(s stopped, images []fileID, argv []string) {
	if plain {
		s.resume(0)
		return
	}
	l.actor = s.task
	var r resolve.Object
	task := resolve.Task{TGID: s.proc.pid, TID: s.tid}
	started := l.started
	again := func(s stopped) {
		defer func(now bool) { l.started = now }(l.started)
		l.started = started
		l.judgeImage(s, images, argv)
	}
	var err error
	if served.Load() == nil {
		l.resolve.Avoid(nil)
		if l.cfg.Scopes == nil { // mostly it is one of them, and nothing else has to be known
			if dev, ino, ok := l.resolve.ExeID(task); ok && slices.Contains(images, fileID{dev, ino}) {
				if !l.refusedAsRun(s, fileID{dev, ino}, images, argv, again) {
					l.recordExec(s)
					s.resume(0)
				}
				return
			}
		}
		err = l.resolve.Exe(&r, task)
	} else {
		err = l.resolveFor(&r, task, unix.AT_FDCWD, procPath(s.tid, "exe"), 0)
	}
	if l.findFirst(s, again) {
		return
	}
	if err != nil || r.Errno != 0 {
		if !alive(s.tid) {
			s.resume(0)
			return
		}
		l.killImage(s, "the running image cannot be seen")
		return
	}
	defer r.Close()
	if exe := (fileID{r.Stat.Dev, r.Stat.Ino}); slices.Contains(images, exe) {
		if !l.refusedAsRun(s, exe, images, argv, again) && l.enterScope(s, &r) {
			l.recordExec(s)
			s.resume(0)
		}
		return
	}
	request := rules.Request{Access: decode.Exec, Program: true, First: !l.started}
	l.file(&r, &request.File)
	request.File.Held = 0 // the magic link is ours, not the program's
	if l.policyOf(s.task).NeedsArgv() {
		if request.Argv, err = argvOf(s.tid); err != nil {
			if !alive(s.tid) {
				s.resume(0)
				return
			}
			l.killImage(s, "its arguments cannot be read")
			return
		}
	}
	if d := l.decide(s, &request); d.Refused() && !l.auditedImage(s, &request, d) {
		l.killRefused(s, &request, d)
		return
	}
	if l.refusedAsRun(s, fileID{r.Stat.Dev, r.Stat.Ino}, images, argv, again) { // by a link that rules speak of, or a script
		return
	}
	if !l.enterScope(s, &r) {
		return
	}
	l.recordExec(s)
	s.resume(0)
}

// refusedAsRun decides the exec once more by the words the kernel took: the name it was
// started by (AT_EXECFN, getauxval(3)) and its argument vector, which lie where only the
// new image could change them, and it has not run. It matters where rules speak of names,
// scripts or arguments, which a racer can change after the entry was decided on while the
// image stays one that may run; and what is mapped must be what was decided on. images and
// decided are the files and the arguments that the entry was decided on.
// True: the process is being killed, or looked at again.
func (l *loop) refusedAsRun(s stopped, exe fileID, images []fileID, decided []string, again func(stopped)) bool {
	needs := l.policyOf(s.task).Needs()
	if !needs.Exec {
		return false
	}
	if l.refusedLoader(s, exe, images) {
		return true
	}
	name, err := startedAs(s.tid)
	if err != nil {
		return l.killUnseen(s, "the name it was started by cannot be read")
	}
	var argv []string
	if needs.Argv {
		if argv, err = argvOf(s.tid); err != nil {
			return l.killUnseen(s, "its arguments cannot be read")
		}
	}
	var r resolve.Object
	task := resolve.Task{TGID: s.proc.pid, TID: s.tid}
	err = l.resolveFor(&r, task, unix.AT_FDCWD, name, 0)
	if l.findFirst(s, again) {
		return true
	}
	if err != nil {
		return l.killUnseen(s, "the name it was started by cannot be followed")
	}
	if r.Errno != 0 || !r.Exists {
		// The name is gone again, or was a descriptor that the exec has closed: the file
		// that runs has been decided on, and its arguments, unless somebody changed them.
		if needs.Argv && !endsWith(argv, decided) && alive(s.tid) {
			l.killImage(s, "its arguments changed while it was executed, and the name it was started by leads nowhere")
			return true
		}
		return false
	}
	defer r.Close()
	request := rules.Request{Access: decode.Exec, Program: true, First: !l.started}
	l.file(&r, &request.File)
	if needs.Argv {
		request.Argv = scriptArgv(argv, name, exe == fileID{r.Stat.Dev, r.Stat.Ino})
	}
	if d := l.decide(s, &request); d.Refused() && !l.auditedImage(s, &request, d) {
		l.killRefused(s, &request, d)
		return true
	}
	return false
}

// refusedLoader looks at what the kernel has mapped for the new image: the program and its ELF
// loader, and nothing else yet. The loader runs first, and its name can be led elsewhere after
// the entry was decided on; a handler of binfmt_misc has one that nobody has looked at.
func (l *loop) refusedLoader(s stopped, exe fileID, images []fileID) bool {
	maps, err := readMaps(s.tid)
	if err != nil {
		return l.killUnseen(s, "what it maps cannot be read")
	}
	last := exe
	for _, m := range maps {
		id := fileID{m.dev, m.ino}
		if m.ino == 0 || id == last || slices.Contains(images, id) {
			continue
		}
		last = id // some file systems tell another device here: decide by the name
		q := rules.Request{Access: decode.Exec, Loader: true, File: rules.File{Path: m.path, Exists: true, Inode: rules.Inode{Dev: m.dev, Ino: m.ino}, Mode: unix.S_IFREG | 0o755}}
		if !filepath.IsAbs(m.path) {
			q.File.Path, q.File.Nameless = "", true
		}
		if d := l.decide(s, &q); d.Refused() && !l.auditedImage(s, &q, d) {
			l.killRefused(s, &q, d)
			return true
		}
	}
	return false
}

// killUnseen ends a process whose new image cannot be looked at, unless it is gone already;
// that, and nothing else, is no refusal.
func (l *loop) killUnseen(s stopped, why string) bool {
	if !alive(s.tid) {
		return false
	}
	l.killImage(s, why)
	return true
}

// endsWith tells whether an argument vector is the one that was decided on. For a script
// the kernel has put other words before it, in the place of argv[0].
func endsWith(argv, decided []string) bool {
	if len(decided) == 0 { // the kernel makes it one empty word
		return len(argv) <= 1
	}
	return slices.Equal(argv, decided) || len(argv) >= len(decided) && slices.Equal(argv[len(argv)-len(decided)+1:], decided[1:])
}

// scriptArgv gives the vector as execve got it. For a script the kernel has put the
// interpreter, its option and the script's name in the place of argv[0] (execve(2)).
func scriptArgv(argv []string, name string, itself bool) []string {
	if itself {
		return argv
	}
	for i := 1; i < len(argv) && i <= 2*image.MaxScripts; i++ {
		if argv[i] == name {
			return argv[i:]
		}
	}
	return argv
}

// startedAs reads AT_EXECFN of a task at its exec event.
func startedAs(tid int) (string, error) {
	// One read gives all of it (proc_pid_auxv(5)): 20 or so pairs, 368 bytes on amd64.
	var room [1024]byte
	fd, err := unix.Open(procPath(tid, "auxv"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	n, err := unix.Read(fd, room[:])
	unix.Close(fd)
	if err != nil {
		return "", err
	}
	const atExecFn = 31
	for text := room[:n]; len(text) >= 16; text = text[16:] {
		if binary.NativeEndian.Uint64(text) == atExecFn {
			return decode.ReadPath(memory{tid}, binary.NativeEndian.Uint64(text[8:]))
		}
	}
	return "", unix.ENOENT
}

// alive tells whether a task is still in the stop that we know of, so that what we resume is
// what we could not look at. A killed one has left it. Nothing but that is taken for an end:
// ptrace(2) needs no descriptor, which the tree may have left us without.
func alive(tid int) bool {
	_, err := unix.PtraceGetEventMsg(tid)
	return !errors.Is(err, unix.ESRCH)
}

// carryMap lets an executable mapping of a file be made and looks at what was mapped: the
// descriptor's number was decided on, and a sibling can put another file behind it. Nothing
// but the mapping has happened at the exit stop; a sibling that runs code of it meanwhile
// dies with it.
func (l *loop) carryMap(s stopped) {
	if len(l.judged) == 0 {
		s.resume(0)
		return
	}
	decided, length := l.judged[0].request.File.Inode, l.call.Args[1]
	s.task.atExit = func(s stopped) {
		at, err := callResult(s.tid)
		if err != nil {
			s.lost(err, "read the result of mmap of")
			return
		}
		if at < 0 && at > -4096 {
			s.resume(0) // nothing was mapped
			return
		}
		if !l.mappedAs(s, uint64(at), length, decided) {
			l.killImage(s, "the file behind a descriptor was exchanged while it was mapped for execution")
			return
		}
		s.resume(0)
	}
	s.request(unix.PTRACE_SYSCALL, 0)
}

// mappedAs tells whether what was just mapped is of the file that was decided on, or of one
// that may be mapped as well. What is gone again already a sibling has moved elsewhere.
func (l *loop) mappedAs(s stopped, start, length uint64, decided rules.Inode) bool {
	maps, err := readMaps(s.tid)
	if err != nil {
		return !alive(s.tid)
	}
	at := start
	for _, m := range maps {
		if m.end <= at || m.start >= start+length {
			continue
		}
		if m.start > at {
			break // a hole
		}
		if m.ino != decided.Ino || m.dev != decided.Dev { // some file systems tell another device here
			r := rules.Request{Access: decode.Map, File: rules.File{Path: m.path, Exists: true, Inode: rules.Inode{Dev: m.dev, Ino: m.ino}, Mode: unix.S_IFREG | 0o755}}
			if !filepath.IsAbs(m.path) || l.bars(l.decide(s, &r)) {
				return false
			}
		}
		at = m.end
	}
	return at >= start+length || !alive(s.tid)
}

// examineRange finds the files mapped in the range that mprotect(2) makes executable.
func (l *loop) examineRange(s stopped, o *decode.Object) error {
	maps, err := readMaps(s.tid)
	if err != nil {
		return err
	}
	for _, m := range maps {
		if m.ino == 0 || m.end <= o.Start || m.start >= o.Start+o.Len {
			continue
		}
		r := rules.Request{Access: decode.Map}
		r.File = rules.File{Path: m.path, Exists: true, Inode: rules.Inode{Dev: m.dev, Ino: m.ino}, Mode: unix.S_IFREG | 0o755}
		if !filepath.IsAbs(m.path) {
			r.File.Path, r.File.Nameless = "", true
		}
		l.judged = append(l.judged, judgement{object: o, request: r})
		j := &l.judged[len(l.judged)-1]
		j.resolved.FD, j.resolved.Parent = -1, -1
		j.resolved.Path = r.File.Path
	}
	return nil
}
