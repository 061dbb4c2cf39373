// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"golang.org/x/sys/unix"
	"ptguard/decode"
)

// carryLook reissues a call that looks at one path: on the canonical path that was decided
// on, from the window. Only a link that somebody puts in meanwhile could still lead it
// elsewhere, and then it tells of an object, but changes and opens none.
func (l *loop) carryLook(s stopped) {
	if len(l.judged) == 0 || l.judged[0].object.Kind != decode.Path {
		s.resume(0) // a descriptor: there is no path in memory
		return
	}
	j := &l.judged[0]
	path, canonical := j.resolved.Path, true
	switch {
	case j.object.Path == "":
		path, canonical = "", false // AT_EMPTY_PATH: it must stay empty
	case j.resolved.Nameless || path == "" || len(path) >= unix.PathMax || s.barred:
		// No name, or the task may not walk it: by its own words, copied.
		path, canonical = j.object.Path, false
	case j.resolved.Slash:
		path += "/"
	}
	name := ""
	if tellsContent(l.call.Row) {
		name = l.call.Text
		if !canonical && path != "" && j.resolved.FD >= 0 {
			l.getPinned(s, j)
			return
		}
	}
	if canonical && l.barredWay(s, j) || !l.inWindow(s) {
		return
	}
	walks := false
	switch {
	case !canonical:
		walks = path != "" // by its own words: links and `..` in it count
		if walks && l.startMoves(s, j) {
			s.refuse(unix.EACCES)
			return
		}
	case j.object.NoFollow:
		walks = l.swappable(path, false)
	default:
		walks = l.swappable(path, true)
	}
	walks = walks || l.sealsMove && canonical && j.request.Access&decode.Read != 0
	if walks && l.awaitTurn(s, "a look of another task") {
		return
	}
	row, asked := l.call.Row, call{l.number, l.call.Args}
	l.reissue(s, !s.barred && !walks, func(w *window, slot int) call {
		for i, arg := range row.Args {
			switch {
			case arg.Kind == decode.Dirfd && canonical:
				asked.args[i] = cwdWord
			case arg.Kind == decode.Path:
				asked.args[i] = w.putString(s.space, slot, offPath, path)
			case arg.Kind == decode.XattrName:
				asked.args[i] = w.putString(s.space, slot, secondPath, name)
			}
		}
		return asked
	})
	if walks && s.leaving != nil {
		l.startWalk(s)
	}
}
