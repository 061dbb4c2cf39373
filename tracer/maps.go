// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"errors"
	"fmt"
	"strconv"
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
	out := make([]mapping, 0, 32)
	for line := range strings.Lines(string(text)) {
		m, ok := parseMapping(strings.TrimSuffix(line, "\n"))
		if !ok {
			return nil, fmt.Errorf("read the mappings of tid %d: %q", tid, line)
		}
		out = append(out, m)
	}
	return out, nil
}

// parseMapping reads "START-END PERMS OFFSET MAJOR:MINOR INODE      PATH". Each exec has some
// twenty of these to read.
func parseMapping(line string) (m mapping, ok bool) {
	ok = true
	number := func(base int, end string) uint64 {
		var digits string
		var found bool
		digits, line, found = strings.Cut(line, end)
		n, err := strconv.ParseUint(digits, base, 64)
		ok = ok && found && err == nil
		return n
	}
	m.start, m.end = number(16, "-"), number(16, " ")
	m.perms, line, _ = strings.Cut(line, " ")
	m.offset = number(16, " ")
	major, minor := number(16, ":"), number(16, " ")
	m.dev, m.ino = unix.Mkdev(uint32(major), uint32(minor)), number(10, " ")
	if i := strings.IndexByte(line, '/'); i >= 0 {
		m.path = strings.ReplaceAll(line[i:], `\012`, "\n")
	}
	return m, ok && len(m.perms) == 4
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
	return err == nil && m.ino != 0 && isServed(m.dev) || err != nil && !errors.Is(err, unix.ENOENT)
}
