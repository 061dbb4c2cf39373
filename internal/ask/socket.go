// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Socket asks a server behind a stream socket: one connection a question, one line each way.
type Socket struct{ Path string }

// Shared is false: the tree may not connect to the socket nor replace it.
func (*Socket) Shared() bool { return false }

// Ask connects, asks and hangs up.
func (s *Socket) Ask(ctx context.Context, q *Question) (Reply, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", s.Path)
	if err != nil {
		return Reply{Answer: No}, err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	reply := Reply{Answer: No}
	if reply.Peer, err = peer(conn.(*net.UnixConn)); err != nil {
		return reply, fmt.Errorf("find out who listens on %s: %w", s.Path, err)
	}
	line, err := q.Line, error(nil)
	if _, err = conn.Write(line); err == nil {
		line, err = readLine(conn)
	}
	switch {
	case ctx.Err() != nil:
		return reply, ctx.Err()
	case err != nil:
		return reply, fmt.Errorf("%s: %w", s.Path, err)
	}
	if reply.Answer, err = parseLine(line, q); err != nil {
		err = fmt.Errorf("%s: %w", s.Path, err)
	}
	return reply, err
}

// peer is the process that listens (SO_PEERCRED, unix(7)).
func peer(conn *net.UnixConn) (pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	if failed != nil {
		err = failed
	}
	return pid, err
}
