// SPDX-License-Identifier: Apache-2.0

// Package inherit finds out what this process was started with and the Go runtime hides:
// the signals that were ignored (nohup, systemd and many runners ignore SIGPIPE). The
// runtime replaces most dispositions before the first line of Go runs, and an exec then
// resets them to the default, so a program under a Go parent would not inherit them.
package inherit

import (
	"errors"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"

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
	// unless it is notified. It stays so for os/signal, for to end that takes as long again:
	// but its disposition is put back, and a child of os/exec, for which Go resets what is
	// notified, finds what it would anyhow.
	planted = int(unix.SIGCONT)
)

func runtimeTable() (table [span]uint64, err error) {
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
	if err == nil {
		atomic.StoreUint64(at, uint64(old.handler)) // as if it had never been
	}
	if e := setSigaction(planted, &old); err == nil {
		err = e
	}
	return table, err
}

// span is the size of the table in words.
const span = signals + 1

// findTable looks for the planted address in our zero-initialised data without pointers,
// where the table lies, and checks that what surrounds it can be the table. at is the
// planted entry. The data can be 30 MB, most of it never touched: a page that is not in
// memory was never written to, or is swapped out, and is looked at only if the others do
// not have the table.
func findTable(address uint64) (table [span]uint64, at *uint64, err error) {
	data := zeroData()
	pages, err := residentPages(data)
	if err != nil {
		return table, nil, err
	}
	for _, all := range []bool{false, true} {
		found := 0
		pages.each(data, all, func(from, to int) {
			for i := from; i < to; i++ {
				if load(data, i) != address || i < planted || i-planted+span > len(data) {
					continue
				}
				var candidate [span]uint64
				for sig := range candidate {
					candidate[sig] = load(data, i-planted+sig)
				}
				if plausible(&candidate) {
					table, at = candidate, &data[i]
					found++
				}
			}
		})
		if found == 1 {
			return table, at, nil
		}
	}
	return table, nil, errors.New("find the runtime's signal table: no place, or several, could be it")
}

// plausible: every entry is SIG_DFL or SIG_IGN but the planted one, and what the kernel
// says of HUP and INT, which Go leaves ignored, is what the table says.
func plausible(table *[span]uint64) bool {
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
