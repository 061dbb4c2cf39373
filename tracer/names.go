// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/resolve"
)

// reissueNames runs a call on names that we cannot perform with the task's rights: on
// canonical paths in the window, while no other change to names of the tree is carried out:
// nothing can put a link into those paths. At the exit stop a look whether their directories
// are still those that were decided on. If not, somebody outside moved them meanwhile, and
// the process is killed.
func (l *loop) reissueNames(s stopped) {
	var paths []string
	var parents []fileID
	asked := call{l.number, l.call.Args}
	for i := range l.judged {
		j := &l.judged[i]
		// By "", a link itself is meant; its name would be followed. Only linkat does not.
		itself := j.object.Kind == decode.Path && j.object.Path == "" && l.call.Row.Name != "linkat"
		if j.object.Kind != decode.Path && j.object.Kind != decode.Entry || j.resolved.Nameless || itself {
			l.refuseConst(s, l.call.Row.Name, l.call.Event, &decode.Answer{Errno: unix.EPERM, Guard: "unprotected", Reason: "ptguard cannot act with this task's rights on an object without a path"})
			return
		}
		path := j.resolved.Path
		if j.resolved.Slash {
			path += "/"
		}
		paths = append(paths, path)
		parent, later := l.directoryFor(s, j.resolved.Path)
		if later {
			l.findFirst(s, l.seccompStop)
			return
		}
		if parent == (fileID{}) && j.resolved.Path != "/" { // it could not be told afterwards either
			l.refuseConst(s, l.call.Row.Name, l.call.Event, &decode.Answer{Errno: unix.EPERM, Guard: "unprotected", Reason: "the directory of a name cannot be seen"})
			return
		}
		parents = append(parents, parent)
	}
	if len(paths) == 0 || len(paths) > 1 && len(paths[1]) >= secondRoom {
		s.refuse(unix.ENAMETOOLONG)
		return
	}
	if l.awaitAct(s) || !l.inWindow(s) {
		return
	}
	row, served := l.call.Row, reachedServed(s.tid)
	l.reissue(s, false, func(w *window, slot int) call {
		n := 0
		for i, arg := range row.Args {
			switch arg.Kind {
			case decode.Dirfd:
				asked.args[i] = cwdWord
			case decode.Path, decode.Entry:
				asked.args[i] = w.putString(s.space, slot, [2]int{offPath, secondPath}[n], paths[n])
				n++
			}
		}
		return asked
	})
	if s.leaving != nil {
		l.startWalk(s)
		s.task.changing = true
		l.changes++
		s.task.leaving.done = func(s stopped, r *registers) {
			if result(r) == 0 {
				s.task.succeeded()
			}
			look := func() (exchanged bool) {
				for i, path := range paths {
					exchanged = exchanged || directoryOf(path) != parents[i]
				}
				return exchanged
			}
			end := func(s stopped, exchanged bool) {
				l.endWalk(s.task)
				if exchanged {
					l.killBlind(s, row.Name, row.Event, "a directory of the name was exchanged while the call was made")
				}
			}
			if !served {
				end(s, look())
				return
			}
			s.task.holds, s.task.waits = true, "the file system of "+paths[0]
			go func() {
				askers <- struct{}{}
				exchanged := look()
				<-askers
				l.post(func() {
					if !l.waits(s) {
						return // its end has ended the walk
					}
					if end(s, exchanged); s.inStop {
						s.request(unix.PTRACE_CONT, 0)
					}
				})
			}()
		}
	}
}

// directoryFor is directoryOf, without a question to a served file system. later: it has to be
// asked first, see findFirst.
func (l *loop) directoryFor(s stopped, path string) (dir fileID, later bool) {
	if !reachedServed(s.tid) {
		return directoryOf(path), false
	}
	a := finding[s.tid]
	if dir, ok := a.dirs[path]; ok {
		return dir, false
	}
	a.what = "the file system of " + path
	a.want = func() func(*findings) {
		dir := directoryOf(path)
		return func(a *findings) {
			if a.dirs == nil {
				a.dirs = map[string]fileID{}
			}
			a.dirs[path] = dir
		}
	}
	return fileID{}, true
}

// directoryOf identifies the directory that a canonical path's last component lies in.
func directoryOf(path string) fileID {
	o, err := resolve.Resolve(resolve.Task{TGID: unix.Getpid(), TID: unix.Gettid()}, unix.AT_FDCWD, path, resolve.Entry|resolve.NoSymlinks)
	if err != nil || o.Errno != 0 {
		return fileID{}
	}
	defer o.Close()
	var st unix.Stat_t
	if err := unix.Fstat(o.Parent, &st); err != nil {
		return fileID{}
	}
	return fileID{st.Dev, st.Ino}
}
