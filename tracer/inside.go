// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	"ptguard/decode"
	"ptguard/internal/landlock"
	"ptguard/internal/resolve"
	"ptguard/record"
	"ptguard/rules"
)

// What ptguard changes for the tree is held by the backstop, too: the tracer thread enters a
// Landlock domain with the same file rules before it starts the tree, so its acts go through
// there at no cost. The tree's own domain lies within and adds the scopes: from there the
// tracer is out of reach, while it may trace what is in a domain beneath its own.
//
// The domain ties what it grants to objects of the start, so it stops some acts that the
// policy allows (rules.Places lists them). Such an act is made again on a thread outside,
// after a look at what its descriptors pin: only where some rule lets the tree change that
// name (rules.Cover), which neither the resolver nor the decision has a part in.

// enterBackstop puts the tracer thread, and so what it starts, into the domain.
// tree is what the tree has still to enter, nil for nothing.
func (l *loop) enterBackstop(domain *landlock.Ruleset) (tree *landlock.Ruleset, err error) {
	if l.tier.Backstop == 0 {
		return domain, nil
	}
	l.cover = l.cfg.Scopes.Cover(l.cfg.Policy)
	if err := l.goInside(!l.cfg.AllowSetuid); err != nil { // as the tree will
		return nil, err
	}
	if domain.Scope == 0 {
		return domain, nil // once more, for a domain beneath ours
	}
	return &landlock.Ruleset{Scope: domain.Scope}, nil
}

// goInside puts the calling thread, which must be locked for good, into the domain. Without
// noNewPrivs that takes CAP_SYS_ADMIN.
func (l *loop) goInside(noNewPrivs bool) error {
	if l.inside == nil {
		return nil
	}
	if noNewPrivs {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("set no_new_privs: %w", err)
		}
	}
	if err := l.inside.Enter(); err != nil {
		return fmt.Errorf("enter the backstop's domain: %w", err)
	}
	return nil
}

// magicLink is a link that proc(5) makes for what a process has.
var magicLink = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^/proc/[0-9]+/(task/[0-9]+/)?(exe|cwd|root|(fd|ns|map_files)/[^/]+)`)
})

// closedToUs tells whose magic link below /proc a walk could not follow for our own domain's
// sake alone, OwnerNone otherwise: from there the processes outside of the tree are out of
// reach, as they are for the tree. A guard refuses what lies behind such a link whatever it
// is, and says so; the kernel's errno would tell of the domain.
func (l *loop) closedToUs(r *resolve.Object) rules.Owner {
	if l.inside == nil || r.Errno != unix.EACCES {
		return rules.OwnerNone
	}
	link := magicLink().FindString(r.Path)
	owner := l.via([]string{link})
	if owner != rules.OwnerOutsider && owner != rules.OwnerGuard {
		return rules.OwnerNone
	}
	open := make(chan bool)
	go func() { // any thread but this one is outside
		_, err := unix.Readlink(link, make([]byte, 1))
		open <- err == nil
	}()
	if <-open {
		return owner
	}
	return rules.OwnerNone
}

// heldError is the end of an act that the policy allows and the backstop does not.
type heldError struct{ name string }

func (e *heldError) Error() string { return e.name + ": held by the Landlock write backstop" }
func (e *heldError) Unwrap() error { return unix.EACCES }

// refuseHeld refuses a call that the backstop has stopped.
func (l *loop) refuseHeld(s stopped, name string) {
	var r registers
	if err := getRegisters(s.tid, &r); err != nil {
		s.lost(err, "read registers of")
		return
	}
	l.put(s, l.heldRecord(s, native.SyscallName(uint32(pending(&r).nr)), name), unix.EACCES, false)
}

// heldRecord tells of a call that the backstop has stopped.
func (l *loop) heldRecord(s stopped, call, name string) *record.Record {
	r := l.newRecord(s, record.KindDenial)
	r.Syscall, r.Verdict, r.Errno, r.Resolved = call, "deny", "EACCES", name
	r.Rule, r.Layer = "guard backstop", "guard"
	r.Reason = "the Landlock write backstop has nothing for this name, although the policy allowed it: please report that"
	return r
}

// again makes an act that failed with err in the domain again outside of it, if the domain may
// be what stopped it and the name is one that some rule lets the tree change. It returns when
// the act is over, like the act itself.
func (l *loop) again(err error, c *credentials, judged []judgement, act deed) error {
	errno := errnoOf(err)
	if err == nil || l.inside == nil || errno != unix.EACCES && errno != unix.EXDEV {
		return err
	}
	for i := range judged {
		if name := l.uncovered(&judged[i]); name != "" {
			return &heldError{name}
		}
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // for good: nobody else shall have these rights
		if !l.ownRights(c) {
			if _, err := l.takeOn(c); err != nil {
				done <- unix.EACCES
				return
			}
		}
		again := act // only here, or it would be allocated for every act
		done <- again.do()
	}()
	return <-done
}

// uncovered gives the name of what the descriptors of an object pin if no rule lets the tree
// change that, else "". What goes by what it is rather than by its name: what has none any more,
// what the tree holds a descriptor of, devices of characters, and files of proc.
func (l *loop) uncovered(j *judgement) string {
	o, r := j.object, &j.resolved
	if l.inside == nil || j.request.Access&(decode.Write|decode.Create|decode.Remove|decode.Bind) == 0 {
		return ""
	}
	name := ""
	if o.Kind != decode.Entry && r.FD >= 0 && !o.TmpFile {
		name = pinnedName(r.FD)
		var st unix.Stat_t
		var fs unix.Statfs_t
		if unix.Fstat(r.FD, &st) != nil || unix.Fstatfs(r.FD, &fs) != nil {
			return name
		}
		held := j.request.File.Held&j.request.Access&decode.Write != 0 || o.Path == "" && o.EmptyPath
		if st.Nlink == 0 || held || st.Mode&unix.S_IFMT == unix.S_IFCHR || fs.Type == unix.PROC_SUPER_MAGIC {
			return ""
		}
	} else {
		dir := r.Parent
		if o.TmpFile {
			dir = r.FD
		}
		name = strings.TrimRight(pinnedName(dir), "/") + "/" + strings.TrimRight(r.Name, "/")
	}
	if l.cover.Holds(name) {
		return ""
	}
	return name
}

// pinnedName is the name that what a descriptor pins has now; it does not begin with a slash if
// that cannot be told.
func pinnedName(fd int) string {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlink(pinPath(fd), buf)
	if err != nil || n == len(buf) || n == 0 || buf[0] != '/' {
		return "(unknown)"
	}
	return string(buf[:n])
}
