// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/internal/landlock"
)

// The backstop: the init stage puts itself into a Landlock domain in which a file can be
// opened for writing, and a name be made, removed or moved, only where the policy can allow
// it. What the tree does by itself stays there even if ptguard has a hole.
//
// It must refuse nothing that the policy allows, and that is so although it is tied to the
// objects of the start: changes to names are made by ptguard, and an open or bind(2) that fails
// with EACCES is made by ptguard too, on what was decided on (openPinned, bindAgain). Those
// acts are in such a domain as well, and leave it only as inside.go says. That takes the
// listener, which plants the descriptor.

// The values of Config.Backstop.
const (
	BackstopAuto    = "auto"    // where it can be had
	BackstopRequire = "require" // or the run does not start
	BackstopOff     = "off"
)

// BackstopError says that a run asked for the backstop and cannot have it.
type BackstopError struct{ Why string }

func (e *BackstopError) Error() string {
	return "--backstop require: there is no Landlock write backstop in this run: " + e.Why
}

// canScope tells whether Landlock can keep signals and /proc inside the tree.
func canScope() bool {
	abi, err := landlock.ABI()
	return err == nil && abi >= 6
}

// domain gives the Landlock rules of the run, nil for none, which keep signals inside if
// l.tier.Scoped is set, and notes in l.tier what else they protect, and in l.inside the file rules ready to be entered. An error is a *BackstopError.
func (l *loop) domain() (*landlock.Ruleset, error) {
	abi, err := landlock.ABI()
	if err != nil {
		abi = 0
	}
	rules := &landlock.Ruleset{}
	if l.tier.Scoped {
		rules.Scope = landlock.Signal
	}
	why := l.addFiles(rules, abi)
	switch {
	case why == "":
		l.tier.Backstop = landlock.Handled(abi)
	case l.cfg.Backstop == BackstopRequire:
		return nil, &BackstopError{why}
	default:
		l.tier.NoBackstop = why
		rules.Files, rules.Grants = false, nil
	}
	if rules.Scope == 0 && !rules.Files {
		return nil, nil
	}
	return rules, nil
}

// addFiles adds the file rules of the backstop and makes them. why says why it cannot be had.
func (l *loop) addFiles(rules *landlock.Ruleset, abi int) (why string) {
	if l.cfg.Backstop == BackstopOff {
		return "off"
	}
	if plain && l.cfg.Backstop != BackstopRequire {
		return "the task makes its own changes to names"
	}
	if l.cfg.Audit {
		return "--audit refuses nothing"
	}
	places, why := l.cfg.Scopes.Places(l.cfg.Policy)
	if why != "" {
		return why
	}
	if _, err := landlock.ABI(); err != nil {
		return err.Error()
	}
	if landlock.Handled(abi) == 0 {
		return fmt.Sprintf("needs Linux 5.19 or later: this kernel has landlock ABI %d", abi)
	}
	rules.Files = true
	all := landlock.Contents | landlock.Names
	for _, p := range places {
		switch {
		case p.Tree:
			rules.Grants = append(rules.Grants, landlock.Grant{Path: p.Path, Access: all})
		default:
			rules.Grants = append(rules.Grants, landlock.Grant{Path: p.Path, Access: landlock.Contents})
		}
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts"} {
		rules.Grants = append(rules.Grants, landlock.Grant{Path: "/dev/" + name, Access: landlock.Contents})
	}
	if unix.Geteuid() != 0 {
		// What is not the user's own there the kernel keeps. Root's tree gets the little that
		// it may write there from ptguard.
		rules.Grants = append(rules.Grants, landlock.Grant{Path: "/proc", Access: landlock.Contents})
	}
	for _, fd := range append([]int{0, 1, 2}, l.cfg.KeepFDs...) {
		// What is open for writing may be opened anew so (/dev/stdout).
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err == nil && flags&unix.O_PATH == 0 && flags&unix.O_ACCMODE != unix.O_RDONLY {
			rules.Grants = append(rules.Grants, landlock.Grant{FD: fd, Access: landlock.Contents})
		}
	}
	files := landlock.Ruleset{Files: true, Grants: rules.Grants}
	inside, err := files.Make()
	if err != nil {
		return err.Error()
	}
	if l.trial == nil {
		l.trial = func() string { return tryLayers(!l.cfg.AllowSetuid) }
	}
	if why := l.trial(); why != "" {
		inside.Close()
		return why
	}
	l.inside = inside
	return ""
}

// tryLayers does what this thread and the stage will do, with rules that refuse nothing, on a
// thread that ends with it. why says what cannot be done: that depends on the layers and filters
// that are there, not on the rules.
func tryLayers(noNewPrivs bool) (why string) {
	all := landlock.Ruleset{Files: true, Grants: []landlock.Grant{{Path: "/", Access: landlock.Changes}}}
	d, err := all.Make()
	if err != nil {
		return err.Error()
	}
	defer d.Close()
	layers, listener, err := tryInside(d.FD(), noNewPrivs)
	switch {
	case err != nil:
		return err.Error()
	case listener != 0:
		return fmt.Sprintf("it needs a seccomp listener, and there can be none (%v)", listener)
	case layers == unix.E2BIG:
		return "ptguard runs in as many Landlock domains as the kernel allows"
	case layers != 0:
		return fmt.Sprintf("landlock_restrict_self: %v", layers)
	}
	return ""
}

// bindAgain has ptguard bind a copy of the socket of a bind(2) to a path that is about to run, with the
// task's rights, if it fails with EACCES. No name of the tree changes meanwhile.
func (l *loop) bindAgain(s stopped, j *judgement, socket *os.File, raw string) {
	name, _, _ := strings.Cut(raw[2:], "\x00")
	if !strings.HasPrefix(name, "/") {
		name = j.request.File.Path // where the task is, we are not
	}
	done := s.task.leaving.done
	outside := l.uncovered(j)
	s.task.leaving.done = func(s stopped, r *registers) {
		defer socket.Close()
		if result(r) == -int64(unix.EACCES) {
			if outside != "" {
				told := l.heldRecord(s, "bind", outside)
				l.stats.Denials++
				l.cfg.Live.Refused(told)
				l.cfg.Sink.Put(told, nil)
				done(s, r)
				return
			}
			res := int64(0)
			if err := l.bindFor(s, int(socket.Fd()), name); err != nil {
				res = -int64(errnoOf(err))
			}
			setResultRegister(r, res)
		}
		done(s, r)
	}
}

func (l *loop) bindFor(s stopped, socket int, name string) error {
	c, err := l.credentialsOf(s)
	if err != nil || c.fenced { // its own sandbox must keep its force
		return unix.EACCES
	}
	mask := umask(s)
	foreign, err := l.actAs(s, c, nil, deedOf(func() error {
		defer unix.Umask(unix.Umask(int(mask)))
		return unix.Bind(socket, &unix.SockaddrUnix{Name: name})
	}))
	if foreign {
		return unix.EACCES
	}
	return err
}
