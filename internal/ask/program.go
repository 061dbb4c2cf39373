// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Program asks a command: the question's line is its standard input, the first line of its
// standard output is the answer. It runs outside the tree, once a question, in a process
// group of its own, which is killed when the answer is there or no longer wanted.
type Program struct {
	Argv  []string // a path, then arguments
	Umask int      // what the command is to have; ptguard's own is 0
}

// Shared is false: the command has nothing of the tree's.
func (*Program) Shared() bool { return false }

// Ask runs the command once.
func (p *Program) Ask(ctx context.Context, q *Question) (Reply, error) {
	// The umask can only be set by a process itself.
	argv := append([]string{"-c", `umask "$1" && shift && exec "$@"`, "sh", "0" + strconv.FormatInt(int64(p.Umask), 8)}, p.Argv...)
	cmd := exec.CommandContext(ctx, "/bin/sh", argv...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = time.Second
	cmd.Stdin, cmd.Stderr = bytes.NewReader(q.Line), os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return Reply{Answer: No}, fmt.Errorf("start %s: %w", p.Argv[0], err)
	}
	line, err := readLine(out)
	// It has said what it had to say; how it ends is its own affair.
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	_ = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return Reply{Answer: No}, ctx.Err()
	case err != nil:
		return Reply{Answer: No}, fmt.Errorf("%s: %w", p.Argv[0], err)
	}
	a, err := parseLine(line, q)
	if err != nil {
		err = fmt.Errorf("%s: %w", p.Argv[0], err)
	}
	return Reply{Answer: a}, err
}
