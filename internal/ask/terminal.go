// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Terminal asks a person at ptguard's controlling terminal, never at standard input or
// output. The tree has the same terminal, so it must stand still meanwhile (Shared); what
// it left behind there is put aside: typed-ahead input is dropped, settings and the
// foreground group are replaced and put back, and a half-finished escape sequence is ended.
//
// Libraries for prompts read standard input or want raw mode; this is one line in the
// kernel's own line editing.
type Terminal struct {
	// Plain leaves out escape sequences (a dumb terminal).
	Plain bool
}

// Shared is true.
func (*Terminal) Shared() bool { return true }

// ErrNobody is why nobody can be asked at the terminal.
type ErrNobody struct{ Why string }

func (e *ErrNobody) Error() string { return e.Why }

// reset ends what the tree may have begun: CAN and ST leave a sequence or string, DECSTR
// and SGR 0 take back attributes, margins and modes, the rest the character sets.
const reset = "\x18\x1b\\\x1b[!p\x1b[0m\x1b(B\x0f"

const (
	intr = 0x03 // Ctrl-C
	quit = 0x1c // Ctrl-\
)

// Reachable tells why nobody can be asked now, nil if somebody can: there is a terminal and
// we, or the tree, are in its foreground.
func (t *Terminal) Reachable(groups map[int]bool) error {
	fd, _, err := t.open(groups)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func (t *Terminal) open(groups map[int]bool) (fd, front int, err error) {
	fd, err = unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, 0, &ErrNobody{"there is no terminal to ask on"}
	}
	front, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil {
		unix.Close(fd)
		return -1, 0, &ErrNobody{"the terminal is gone"}
	}
	if front != unix.Getpgrp() && !groups[front] {
		unix.Close(fd)
		return -1, 0, &ErrNobody{"ptguard is in the background of its terminal"}
	}
	return fd, front, nil
}

// Ask prints the question and waits for a line.
func (t *Terminal) Ask(ctx context.Context, q *Question) (reply Reply, err error) {
	reply.Answer = No
	fd, front, err := t.open(q.Groups)
	if err != nil {
		return reply, err
	}
	defer unix.Close(fd)
	var wake [2]int
	if err := unix.Pipe2(wake[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return reply, err
	}
	defer unix.Close(wake[0])
	defer unix.Close(wake[1])
	stop := context.AfterFunc(ctx, func() { _, _ = unix.Write(wake[1], []byte{0}) })
	defer stop()
	x := &session{ctx: ctx, fd: fd, wake: wake[0]}
	restore, err := x.take(front)
	if err != nil {
		return reply, &ErrNobody{fmt.Sprintf("the terminal cannot be had: %v", err)}
	}
	defer restore()
	text := "\r\n"
	if !t.Plain {
		text = reset + text
	}
	for _, line := range q.Text {
		text += "ptguard: " + line + "\n"
	}
	for _, c := range q.Choices {
		text += fmt.Sprintf("ptguard:   %s  %s\n", letter(c.Answer), c.Text)
	}
	for {
		if err := x.write(text + "ptguard: " + letters(q) + "? "); err != nil {
			return reply, err
		}
		line, err := x.read()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			_ = x.flush("\nptguard: no answer: refused\n")
			return reply, err
		case err != nil:
			_ = x.flush("\nptguard: the question is withdrawn\n")
			return reply, err
		}
		switch at := strings.IndexAny(line, string([]byte{intr, quit})); {
		case at >= 0:
			reply.Signal, reply.Group = int(unix.SIGINT), front
			if line[at] == quit {
				reply.Signal = int(unix.SIGQUIT)
			}
			_ = x.flush("\n")
			return reply, nil
		case strings.TrimSpace(line) == "":
			if !strings.HasSuffix(line, "\n") { // the end of input: what is told next begins a line
				_ = x.flush("\n")
			}
			return reply, nil
		}
		for _, c := range q.Choices {
			if word := strings.ToLower(strings.TrimSpace(line)); word == letter(c.Answer) || word == string(c.Answer) {
				reply.Answer = c.Answer
				return reply, nil
			}
		}
		text = "ptguard: that is none of the answers\n"
	}
}

func letter(a Answer) string { return string(a[0]) }

func letters(q *Question) string {
	out := make([]string, len(q.Choices))
	for i, c := range q.Choices {
		if out[i] = letter(c.Answer); c.Answer == No {
			out[i] = "N"
		}
	}
	return "answer [" + strings.Join(out, "/") + "]"
}

// session is the terminal while a question is open.
type session struct {
	ctx      context.Context
	fd, wake int
}

// take brings the terminal to the front for us, with settings that no program of the tree
// has chosen. restore puts everything back.
func (x *session) take(front int) (restore func(), err error) {
	own := unix.Getpgrp()
	saved, err := unix.IoctlGetTermios(x.fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	if front != own {
		// We ignore SIGTTOU, so this works from the background.
		if err := unix.IoctlSetPointerInt(x.fd, unix.TIOCSPGRP, own); err != nil {
			return nil, err
		}
	}
	restore = func() {
		_ = unix.IoctlSetTermios(x.fd, unix.TCSETS, saved)
		if front != own {
			_ = unix.IoctlSetPointerInt(x.fd, unix.TIOCSPGRP, front)
		}
	}
	mode := *saved
	mode.Iflag = unix.ICRNL | unix.IXON | saved.Iflag&unix.IUTF8
	mode.Oflag = unix.OPOST | unix.ONLCR
	mode.Lflag = unix.ICANON | unix.ECHO | unix.ECHOE | unix.ECHOK | unix.ECHOCTL
	mode.Cc = [19]uint8{}
	mode.Cc[unix.VEOF], mode.Cc[unix.VERASE], mode.Cc[unix.VKILL] = 0x04, 0x7f, 0x15
	mode.Cc[unix.VSTART], mode.Cc[unix.VSTOP], mode.Cc[unix.VMIN] = 0x11, 0x13, 1
	// Not signals: the tree stands still. They end the line, so they are read at once.
	mode.Cc[unix.VEOL], mode.Cc[unix.VEOL2] = intr, quit
	// Not TCSETSF, which waits for output that somebody may have stopped.
	err = unix.IoctlSetTermios(x.fd, unix.TCSETS, &mode)
	if err == nil {
		err = unix.IoctlSetInt(x.fd, unix.TCFLSH, unix.TCIFLUSH) // what was typed ahead
	}
	if err != nil {
		restore()
		return nil, err
	}
	return restore, nil
}

// await waits until the terminal is ready.
func (x *session) await(events int16) error {
	for {
		fds := []unix.PollFd{{Fd: int32(x.fd), Events: events}, {Fd: int32(x.wake), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return err
		}
		switch {
		case x.ctx.Err() != nil:
			return x.ctx.Err()
		case fds[0].Revents&events != 0:
			return nil
		case fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0:
			return &ErrNobody{"the terminal is gone"}
		}
	}
}

func (x *session) write(text string) error {
	for data := []byte(text); len(data) > 0; {
		if err := x.await(unix.POLLOUT); err != nil {
			return err
		}
		n, err := unix.Write(x.fd, data)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return os.NewSyscallError("write to the terminal", err)
		}
		data = data[n:]
	}
	return nil
}

// flush writes what can be written at once.
func (x *session) flush(text string) error {
	_, err := unix.Write(x.fd, []byte(text))
	return err
}

// read gives one line; at its end of file, an empty one.
func (x *session) read() (string, error) {
	buf := make([]byte, 4096)
	for {
		if err := x.await(unix.POLLIN); err != nil {
			return "", err
		}
		n, err := unix.Read(x.fd, buf)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		case err != nil:
			return "", &ErrNobody{"the terminal is gone"}
		default:
			return string(buf[:n]), nil
		}
	}
}
