// SPDX-License-Identifier: Apache-2.0

package tracer

import (
	"golang.org/x/sys/unix"
)

// The ioctl(2) commands that change attributes of an inode, by the size of what they read.
// The descriptor may be re-pointed by another thread, so they are carried out on a copy of
// it that is seen to be of the judged inode.
var attributeIoctls = map[uint32]int{
	unix.FS_IOC_SETFLAGS: 4,  // an int, whatever its number says (ioctl_iflags(2))
	0x401c5820:           28, // FS_IOC_FSSETXATTR, struct fsxattr
	0x40087602:           4,  // FS_IOC_SETVERSION
	0x40086604:           4,  // EXT4_IOC_SETVERSION
	0x40047211:           4,  // FAT_IOCTL_SET_ATTRIBUTES
}

// performIoctl changes an inode's attributes. Commands whose argument points on to further
// memory (verity, encryption policies) are answered as by a file system without them.
func performIoctl(l *loop, s stopped) (deed, error) {
	r := &l.judged[0].resolved
	command := uint32(l.call.Args[1])
	size, ok := attributeIoctls[command]
	if !ok {
		return deed{}, unix.EOPNOTSUPP
	}
	raw := make([]byte, size)
	if readAll(s.tid, raw, l.call.Args[2]) != nil {
		return deed{}, unix.EFAULT
	}
	fd, held := copyFD(s.tid, int(int32(l.call.Args[0])))
	if held == nil {
		unix.Close(r.FD) // the open one takes its place, to be closed like it
		r.FD = fd
	}
	return deedOf(func() error {
		fd := r.FD
		if held != nil {
			// Withheld (a container): open the pinned object as the task could.
			var err error
			if fd, err = unix.Open(pinPath(r.FD), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err != nil {
				return err
			}
			defer unix.Close(fd)
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if st.Dev != r.Stat.Dev || st.Ino != r.Stat.Ino {
			return unix.EBADF // closed and given to another meanwhile
		}
		return ioctl(fd, command, raw)
	}), nil
}
