// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/decode"
)

// barredWay refuses a call whose words lead through a directory that is closed to the task, by a
// link or a "..", to an object that it could reach by another name: the walk that found the object
// went with ptguard's own rights, and the canonical path that the call will get does not come by
// there.
func (l *loop) barredWay(s stopped, j *judgement) bool {
	if len(j.resolved.Hops) == 0 && !strings.Contains(j.object.Path, "..") {
		return false // the canonical path goes by all that the words do
	}
	return l.barredWords(s, j)
}

// barredWords does so for a call that is answered without the kernel, on whatever way. It matters only
// once some task may have given rights up; ways through /proc mean something else to us, and are open to all.
// Where a served file system is on the way nobody can say how long the walk takes, and this thread must
// not wait: such a way is not gone again (SECURITY.md, Limits).
func (l *loop) barredWords(s stopped, j *judgement) bool {
	o, r := j.object, &j.resolved
	words := o.Path
	if !l.rightsDiffer || words == "" || r.Jumped || strings.HasPrefix(r.Path, "/proc/") || reachedServed(s.tid) {
		return false
	}
	for _, hop := range r.Hops {
		if strings.HasPrefix(hop, "/proc/") {
			return false
		}
	}
	c, err := l.credentialsOf(s)
	if err != nil {
		l.unresolvable(s, err)
		return true
	}
	if l.ownRights(c) {
		return false
	}
	dirfd := o.Dirfd
	if o.Kind == decode.Sockaddr { // that is the socket
		dirfd = unix.AT_FDCWD
	}
	start := taskDir(s, dirfd)
	defer unix.Close(start)
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: o.How &^ resolveCached}
	if o.NoFollow {
		how.Flags |= unix.O_NOFOLLOW
	}
	restore, err := l.takeOn(c)
	if err != nil {
		restore()
		s.refuse(unix.EACCES)
		return true
	}
	fd, err := unix.Openat2(start, words, &how)
	for tries := 0; errors.Is(err, unix.EAGAIN) && tries < 100; tries++ { // a ".." while somebody renamed
		fd, err = unix.Openat2(start, words, &how)
	}
	restore()
	if err == nil {
		defer unix.Close(fd)
		var st unix.Stat_t
		if err = unix.Fstat(fd, &st); err == nil && (!r.Exists || st.Dev != r.Stat.Dev || st.Ino != r.Stat.Ino) {
			err = unix.EACCES // somebody changes what the words mean
		}
	}
	if err == nil || errors.Is(err, unix.ENOENT) && !r.Exists {
		return false
	}
	s.refuse(errnoOf(err))
	return true
}
