# SPDX-License-Identifier: Apache-2.0
"""Tries every call that takes a path on names and prints what comes of it, a line each.

hidden.py PART NAME...   PART looks: calls that only look; acts: those that would change
something; lists: listings of the directories, with buffers of many sizes.
It changes nothing where the names are absent or hidden, so the lines can be compared.
"""
import ctypes
import errno
import os
import socket
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {  # amd64, arm64
    "openat2": (437, 437), "statx": (332, 291), "faccessat2": (439, 439), "renameat2": (316, 276), "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27), "name_to_handle_at": (303, 264), "listxattrat": (465, 465), "getdents64": (217, 61), "getdents": (78, -1),
}
ARM = os.uname().machine == "aarch64"
AT_FDCWD = -100


def call(name, *args):
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    r = libc.syscall(ctypes.c_long(NUMBERS[name][ARM]), *words)
    if r < 0:
        raise OSError(ctypes.get_errno(), name)
    return r


def opened(path, flags, mode=0o600):
    os.close(os.open(path, flags, mode))


def openat2(path, flags, mode=0, resolve=0):
    how = struct.pack("QQQ", flags, mode, resolve)
    os.close(call("openat2", AT_FDCWD, path.encode(), how, len(how)))


def watch(path):
    fd = call("inotify_init1", 0)
    try:
        call("inotify_add_watch", fd, path.encode(), 0xFFF)
    finally:
        os.close(fd)


def enter(path):
    here = os.getcwd()
    os.chdir(path)
    os.chdir(here)


def execute(path):
    pid = os.fork()
    if pid == 0:
        try:
            os.execv(path, [path])
        except OSError as e:
            os._exit(e.errno)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise OSError(code, "exec")


def on_socket(act, kind, path):
    with socket.socket(socket.AF_UNIX, kind) as s:
        act(s, path)


def access(path, mode):
    if libc.access(path.encode(), mode):
        raise OSError(ctypes.get_errno(), "access")


ROOM = ctypes.create_string_buffer(4096)
HANDLE = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
LOOKS = {
    "stat": os.stat,
    "lstat": os.lstat,
    "access": lambda p: access(p, 0),
    "access-r": lambda p: access(p, 4),
    "faccessat2": lambda p: call("faccessat2", AT_FDCWD, p.encode(), 0, 0x100),
    "statx": lambda p: call("statx", AT_FDCWD, p.encode(), 0, 0xFFF, ROOM),
    "readlink": os.readlink,
    "open": lambda p: opened(p, os.O_RDONLY | os.O_NONBLOCK),
    "open-nofollow": lambda p: opened(p, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK),
    "open-path": lambda p: opened(p, os.O_PATH),
    "open-path-nofollow": lambda p: opened(p, os.O_PATH | os.O_NOFOLLOW),
    "open-directory": lambda p: opened(p, os.O_DIRECTORY),
    "openat2": lambda p: openat2(p, os.O_NONBLOCK),
    "openat2-nolinks": lambda p: openat2(p, os.O_NONBLOCK, resolve=4),
    "chdir": enter,
    "statfs": os.statvfs,
    "getxattr": lambda p: os.getxattr(p, "user.absent"),
    "lgetxattr": lambda p: os.getxattr(p, "user.absent", follow_symlinks=False),
    "listxattr": os.listxattr,
    "inotify": watch,
    "handle": lambda p: call("name_to_handle_at", AT_FDCWD, p.encode(), HANDLE, ctypes.byref(ctypes.c_int()), 0),
    "execve": execute,
    "connect": lambda p: on_socket(socket.socket.connect, socket.SOCK_STREAM, p),
    "sendto": lambda p: on_socket(lambda s, q: s.sendto(b"x", q), socket.SOCK_DGRAM, p),
    "open-w": lambda p: opened(p, os.O_WRONLY | os.O_NONBLOCK),
    "truncate": lambda p: os.truncate(p, 3),
    "chmod": lambda p: os.chmod(p, 0o755),
    "chown": lambda p: os.chown(p, -1, -1),
    "lchown": lambda p: os.lchown(p, -1, -1),
    "utime": os.utime,
    "setxattr": lambda p: os.setxattr(p, "user.a", b"1"),
    "removexattr": lambda p: os.removexattr(p, "user.a"),
    "unlink": os.unlink,
    "rmdir": os.rmdir,
    "rename-from": lambda p: os.rename(p, "new"),
    "link-from": lambda p: os.link(p, "new"),
    "exchange": lambda p: call("renameat2", AT_FDCWD, p.encode(), AT_FDCWD, b"f", 2),
    "exchange-back": lambda p: call("renameat2", AT_FDCWD, b"f", AT_FDCWD, p.encode(), 2),
}
CREATE = os.O_CREAT | os.O_WRONLY
ACTS = {
    "open-creat": lambda p: opened(p, CREATE),
    "open-creat-r": lambda p: opened(p, os.O_CREAT),
    "open-creat-nofollow": lambda p: opened(p, CREATE | os.O_NOFOLLOW),
    "open-creat-directory": lambda p: opened(p, CREATE | os.O_DIRECTORY),
    "open-excl": lambda p: opened(p, CREATE | os.O_EXCL),
    "open-tmpfile": lambda p: opened(p, os.O_TMPFILE | os.O_RDWR),
    "openat2-creat": lambda p: openat2(p, CREATE, 0o600),
    "mkdir": os.mkdir,
    "mkfifo": os.mkfifo,
    "symlink": lambda p: os.symlink("x", p),
    "link-to": lambda p: os.link("f", p),
    "rename-to": lambda p: os.rename("f", p),
    "rename-directory-to": lambda p: os.rename("d", p),
    "rename-noreplace": lambda p: call("renameat2", AT_FDCWD, b"f", AT_FDCWD, p.encode(), 1),
    "bind": lambda p: on_socket(socket.socket.bind, socket.SOCK_STREAM, p),
}
ENDS = ["", "/", "/.", "/..", "/x", "/../f"]


def attempts(table, names):
    for name in names:
        for end in ENDS:
            for word, act in table.items():
                try:
                    act(name + end)
                    print(word, name + end, "ok")
                except OSError as e:
                    print(word, name + end, errno.errorcode[e.errno])


def entries(name, path, size):
    """The names of a directory by one kind of getdents, and what lay in the buffer."""
    start = 19 if name == "getdents64" else 18
    room = ctypes.create_string_buffer(size)
    fd, names, seen, offsets = os.open(path, os.O_RDONLY), [], b"", []
    while True:
        n = call(name, fd, room, size)
        seen += room.raw
        if n == 0:
            break
        at = 0
        while at < n:
            length = struct.unpack_from("H", room.raw, at + 16)[0]
            names.append(room.raw[at + start:at + length].split(b"\0")[0].decode())
            offsets.append(struct.unpack_from("q", room.raw, at + 8)[0])
            at += length
    for off in offsets[:: max(1, len(offsets) // 20)]:  # as seekdir(3) does
        os.lseek(fd, off, 0)
        call(name, fd, room, size)
        seen += room.raw
    os.close(fd)
    return sorted(names), seen


def listings(paths):
    for path in paths:
        print(path, sorted(os.listdir(path)))
        for name in ["getdents64"] if ARM else ["getdents64", "getdents"]:
            for size in (64, 300, 4096, 65536):
                names, seen = entries(name, path, size)
                print(name, path, size, names, b"secret" in seen)


if sys.argv[1] == "lists":
    listings(sys.argv[2:])
else:
    attempts(LOOKS if sys.argv[1] == "looks" else ACTS, sys.argv[2:])
