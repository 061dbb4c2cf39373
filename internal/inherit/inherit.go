// SPDX-License-Identifier: Apache-2.0

// Package inherit finds out what this process was started with and the Go runtime hides:
// the signals that were ignored (nohup, systemd and many runners ignore SIGPIPE). The
// runtime replaces most dispositions before the first line of Go runs, and an exec then
// resets them to the default, so a program under a Go parent would not inherit them.
package inherit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ignored is the set of signals, bit N-1 for signal N, that were ignored at start. known is
// false if the runtime's own record of them could not be found; the set then holds only
// those that the runtime left alone (HUP, INT, and the stop signals of the terminal).
//
// The runtime keeps the disposition that each signal had in a table indexed by signal, which
// no interface shows. But it fills an entry when a signal is notified for the first time. So
// a handler address of ours is set for one signal, the signal is notified, and the table is
// where in our own zero-initialised data that address turns up.
func Ignored() (set uint64, known bool) { return ignored() }

var ignored = sync.OnceValues(func() (uint64, bool) {
	set := uint64(0)
	for sig := 1; sig <= signals; sig++ {
		var act sigaction
		if getSigaction(sig, &act) == nil && act.handler == ignore {
			set |= 1 << (sig - 1)
		}
	}
	table, err := runtimeTable()
	if err != nil {
		return set, false
	}
	for sig, handler := range table {
		if handler == ignore && sig > 0 {
			set |= 1 << (sig - 1)
		}
	}
	return set, true
})

const (
	signals = 64 // _NSIG
	ignore  = 1  // SIG_IGN
	// planted is the signal that the table is found by: Go installs no handler for it
	// unless it is notified.
	planted = int(unix.SIGTTIN)
)

// marker lies in the same part of the data as the table: zero-initialised, no pointers.
var marker [2]uint64

func runtimeTable() (table [signals + 1]uint64, err error) {
	var old sigaction
	if err := getSigaction(planted, &old); err != nil {
		return table, err
	}
	address := handlerAddress()
	ours := old
	ours.handler = address
	if err := setSigaction(planted, &ours); err != nil {
		return table, err
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.Signal(planted))
	table, at, err := findTable(uint64(address))
	signal.Stop(c)
	if err == nil {
		err = poke(at, uint64(old.handler)) // as if it had never been
	}
	if e := setSigaction(planted, &old); err == nil {
		err = e
	}
	return table, err
}

// findTable looks for the planted address in our own data and checks that what surrounds
// it can be the table. at is the address of the planted entry.
func findTable(address uint64) (table [signals + 1]uint64, at int64, err error) {
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		return table, 0, err
	}
	defer mem.Close()
	start, end, err := mappingOf(uint64(uintptr(unsafe.Pointer(&marker))))
	if err != nil {
		return table, 0, err
	}
	const (
		chunk = 256 << 10 // zero-initialised data can be 30 MB, most of it never touched
		span  = 8 * (signals + 1)
	)
	needle := binary.NativeEndian.AppendUint64(nil, address)
	buffer := make([]byte, chunk+2*span) // a table that starts or ends in the next one is seen whole
	found := 0
	for at0 := start; at0 < end; at0 += chunk {
		low := max(start, at0-min(at0, span))
		data := buffer[:min(end, at0+chunk+span)-low]
		if _, err := mem.ReadAt(data, int64(low)); err != nil {
			return table, 0, err
		}
		for from := 0; ; {
			i := bytes.Index(data[from:], needle)
			if i < 0 {
				break
			}
			hit := from + i
			from = hit + 1
			base := hit - 8*planted
			where := low + uint64(hit)
			if where < at0 || where >= at0+chunk || where%8 != 0 || base < 0 || base+span > len(data) {
				continue
			}
			var candidate [signals + 1]uint64
			for sig := range candidate {
				candidate[sig] = binary.NativeEndian.Uint64(data[base+8*sig:])
			}
			if plausible(&candidate) {
				table, at = candidate, int64(where)
				found++
			}
		}
	}
	if found != 1 {
		return table, 0, fmt.Errorf("find the runtime's signal table: %d candidates", found)
	}
	return table, at, nil
}

// plausible: every entry is SIG_DFL or SIG_IGN but the planted one, and what the kernel
// says of HUP and INT, which Go leaves ignored, is what the table says.
func plausible(table *[signals + 1]uint64) bool {
	for sig, handler := range table {
		if sig != planted && handler > ignore {
			return false
		}
	}
	for _, sig := range []unix.Signal{unix.SIGHUP, unix.SIGINT} {
		var act sigaction
		if getSigaction(int(sig), &act) != nil || (act.handler == ignore) != (table[sig] == ignore) {
			return false
		}
	}
	return table[0] == 0 && table[unix.SIGKILL] == 0 && table[unix.SIGSTOP] == 0
}

// mappingOf finds the mapping of our own that holds an address.
func mappingOf(address uint64) (start, end uint64, err error) {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "%x-%x", &start, &end); err == nil && start <= address && address < end {
			return start, end, nil
		}
	}
	return 0, 0, fmt.Errorf("no mapping holds %#x", address)
}

func poke(at int64, value uint64) error {
	mem, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	_, err = mem.WriteAt(binary.NativeEndian.AppendUint64(nil, value), at)
	return err
}
