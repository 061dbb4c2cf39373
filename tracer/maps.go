// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
	"ptguard/internal/readfile"
)

// mapping is one line of /proc/TID/maps (proc_pid_maps(5)).
type mapping struct {
	start, end uint64
	offset     uint64
	dev, ino   uint64
	perms      string // rwxp or rwxs
	path       string
}

func readMaps(tid int) ([]mapping, error) {
	text, err := readfile.All(procPath(tid, "maps"))
	if err != nil {
		return nil, fmt.Errorf("read the mappings of tid %d: %w", tid, err)
	}
	var out []mapping
	for line := range strings.Lines(string(text)) {
		var m mapping
		var major, minor uint32
		line = strings.TrimSuffix(line, "\n")
		if _, err := fmt.Sscanf(line, "%x-%x %s %x %x:%x %d", &m.start, &m.end, &m.perms, &m.offset, &major, &minor, &m.ino); err != nil {
			return nil, fmt.Errorf("read the mappings of tid %d: %q: %w", tid, line, err)
		}
		m.dev = unix.Mkdev(major, minor)
		if i := strings.IndexByte(line, '/'); i >= 0 {
			m.path = strings.ReplaceAll(line[i:], `\012`, "\n")
		}
		out = append(out, m)
	}
	return out, nil
}

// behind tells whether addr lies in pages that the mapped file does not reach to.
func (m *mapping) behind(addr uint64) bool {
	var st unix.Stat_t
	if m.ino == 0 || unix.Lstat(m.path, &st) != nil || st.Ino != m.ino || st.Dev != m.dev || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	pages := (uint64(st.Size) + pageSize - 1) &^ (pageSize - 1)
	return m.offset+(addr-m.start) >= pages
}

// servedAt tells whether addr lies in a mapping of a file on a served file system.
func servedAt(tid int, addr uint64) bool {
	if served.Load() == nil {
		return false
	}
	m, err := mappingAt(tid, addr)
	return err == nil && m.ino != 0 && isServed(m.dev)
}
