# SPDX-License-Identifier: Apache-2.0
"""Raises every file, process and socket audit event that CPython has, in several threads
and processes, and writes what an audit hook is told: one JSON object a line with pid, tid,
event, qualifier, path (hexadecimal, absolute, resolved as the act will resolve it) and how
many objects of the same act follow.

Usage: events.py OUT OUTSIDE    in an empty work folder. OUTSIDE: a folder not writable
under the policy. The policy hides the folder "hidden" in the work folder, with files "0" to "4".
"""

import array
import ctypes
import errno
import fcntl
import glob
import io
import json
import mmap
import os
import pathlib
import pty
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tarfile  # noqa: F401  so that shutil imports nothing later
import tempfile
import threading
import zipfile  # noqa: F401

OUT, OUTSIDE = sys.argv[1], sys.argv[2]
out = os.open(OUT, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
os.set_inheritable(out, False)
told = threading.local()  # what the script knows of a call and CPython does not say: follow

FAMILIES = ("os.", "shutil.", "subprocess.", "socket.", "fcntl.", "resource.", "mmap.", "tempfile.", "glob.", "pathlib.", "signal.", "pty.", "ctypes.dlopen")
F_SETOWN, FIOSETOWN, FS_IOC_SETFLAGS = 8, 0x8901, 0x40086602

# Which arguments are paths: (index, index of the dir_fd or None, "follow", "entry").
PATHS = {
    "os.remove": [(0, 1, "entry")],
    "os.rmdir": [(0, 1, "entry")],
    "os.mkdir": [(0, 2, "entry")],
    "os.rename": [(0, 2, "entry"), (1, 3, "entry")],
    "os.link": [(0, 2, "entry"), (1, 3, "entry")],
    "os.symlink": [(1, 2, "entry")],
    "os.truncate": [(0, None, "follow")],
    "os.chmod": [(0, 2, "follow")],
    "os.chown": [(0, 3, "follow")],
    "os.utime": [(0, 3, "follow")],
    "os.setxattr": [(0, None, "follow")],
    "os.removexattr": [(0, None, "follow")],
    "os.getxattr": [(0, None, "follow")],
    "os.listxattr": [(0, None, "follow")],
    "os.listdir": [(0, None, "follow")],
    "os.scandir": [(0, None, "follow")],
    "os.chdir": [(0, None, "follow")],
    "os.exec": [(0, None, "follow")],
    "os.posix_spawn": [(0, None, "follow")],
    "subprocess.Popen": [(0, None, "follow")],
}
# Events that do not say whether the last link is followed, where the library asks.
EITHER = ("os.chown", "os.utime", "os.setxattr", "os.removexattr", "os.getxattr", "os.listxattr")


def resolved(path, dirfd, how):
    path = os.fsencode(path)
    if not path.startswith(b"/"):
        base = b"/proc/self/cwd" if dirfd in (None, -1, -100) else b"/proc/self/fd/%d" % dirfd
        path = os.readlink(base) + b"/" + path
    if how == "follow" and getattr(told, "follow", True):
        return os.path.realpath(path)
    head, tail = os.path.split(path)
    if tail in (b"", b".", b".."):
        return os.path.realpath(path)
    return os.path.join(os.path.realpath(head), tail)


def address(sock, addr, how):
    if sock.family == socket.AF_INET:
        return b"%s:%d" % (addr[0].encode(), addr[1])
    if sock.family == socket.AF_INET6:
        return b"%s:%d" % (addr[0].encode(), addr[1])
    raw = os.fsencode(addr)
    if raw.startswith(b"\0"):
        return b"@" + raw[1:]
    return resolved(raw, None, how)


def process(pid):
    return b"pid %d" % pid if pid > 0 else b"process group %d" % -pid


def items(event, args):
    """The (qualifier, path) pairs of an event: one for each object that the act touches."""
    if event == "open":
        path, mode, flags = args
        if isinstance(path, int):
            return [("fd", os.readlink(b"/proc/self/fd/%d" % path))]
        raw = os.fsencode(path)
        if mode is None and not raw.startswith(b"/"):
            return [("dirfd", raw)]  # os.open: CPython does not say the dir_fd
        nofollow = flags & os.O_NOFOLLOW or flags & os.O_CREAT and flags & os.O_EXCL
        return [("", resolved(path, None, "entry" if nofollow else "follow"))]
    if event in ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"):
        if args[1] is None:
            return [("none", b"")]
        return [("", address(args[0], args[1], "entry" if event == "socket.bind" else "follow"))]
    if event == "fcntl.fcntl":
        return [("owner", process(args[2]))] if args[1] == F_SETOWN else [("", b"")]
    if event == "fcntl.ioctl":
        if args[1] & 0xFFFFFFFF == FS_IOC_SETFLAGS:
            return [("flags", os.readlink(b"/proc/self/fd/%d" % args[0]))]
        return [("owner", process(struct.unpack("i", args[2])[0]))] if args[1] == FIOSETOWN else [("", b"")]
    if event == "resource.prlimit":
        return [("", process(args[0]))] if args[0] else [("self", b"")]
    if event in ("os.kill", "os.killpg"):
        return [("", process(-args[0] if event == "os.killpg" else args[0]))]
    if event == "signal.pthread_kill":  # of the caller only: the process, and the thread in it
        return [("", process(os.getpid())), ("", process(threading.get_native_id()))]
    if event == "socket.__new__":
        return [("refused" if args[1] == socket.AF_VSOCK else "", b"")]
    if event == "os.posix_spawn" and b"/" not in os.fsencode(args[0]):
        return [("search", os.fsencode(args[0]))]  # posix_spawnp
    if event not in PATHS:
        return [("", b"")]
    found = []
    for index, dirfd, how in PATHS[event]:
        path = args[index]
        if path is None:  # os.listdir(None)
            path = "."
        if isinstance(path, int):
            found.append(("fd", os.readlink(b"/proc/self/fd/%d" % path)))
            continue
        dirfd = None if dirfd is None else args[dirfd]
        last, itself = resolved(path, dirfd, how), resolved(path, dirfd, "entry")
        if event in EITHER and not hasattr(told, "follow") and last != itself:
            found.append(("link", last + b"\0" + itself))
        else:
            found.append(("", last))
    return found


def hook(event, args):
    if event != "open" and not event.startswith(FAMILIES):
        return
    objects = items(event, args)
    for n, (qualifier, path) in enumerate(objects):
        line = {"pid": os.getpid(), "tid": threading.get_native_id(), "event": event, "qualifier": qualifier, "path": path.hex(), "more": len(objects) - n - 1}
        os.write(out, json.dumps(line).encode() + b"\n")


def fails(expected, act, *args, **kwargs):
    """An act that has to fail, with one of the errnos."""
    try:
        act(*args, **kwargs)
    except OSError as e:
        if e.errno not in expected:
            raise
        return
    raise AssertionError(f"{act} {args} did not fail")


def put(path, text="x\n"):
    with open(path, "w") as f:
        f.write(text)


def names():
    """Names come, go and move, in a folder of the thread's own."""
    d = f"names-{threading.get_native_id()}"
    os.mkdir(d)
    os.makedirs(d + "/a/b/c")
    put(d + "/f")
    put(os.fsencode(d) + b"/n\xff\\")
    with open(d + "/f") as f:
        f.read()
    os.close(os.open(d + "/x", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    fails([errno.EEXIST], os.open, d + "/x", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    fails([errno.ENOENT], open, d + "/absent")
    fails([errno.ENOENT], open, d + "/absent/x", "w")
    fails([errno.ENOTDIR], open, d + "/f/x")
    fails([errno.EISDIR], open, d + "/a", "w")
    fails([errno.ENOENT], os.remove, d + "/absent")
    fails([errno.EEXIST], os.mkdir, d + "/a")
    os.symlink("f", d + "/link")
    os.symlink("absent", d + "/dangling")
    with open(d + "/link") as f:
        f.read()
    put(d + "/dangling")  # makes absent
    os.link(d + "/f", d + "/hard")
    os.rename(d + "/hard", d + "/moved")
    os.replace(d + "/moved", d + "/x")
    os.renames(d + "/x", d + "/new/x")
    fd = os.open(d, os.O_RDONLY | os.O_DIRECTORY)
    os.mkdir("by-fd", dir_fd=fd)
    os.rename("by-fd", "by-fd-2", src_dir_fd=fd, dst_dir_fd=fd)
    os.symlink("f", "link-by-fd", dir_fd=fd)
    os.link("f", "hard-by-fd", src_dir_fd=fd, dst_dir_fd=fd)
    os.close(os.open("f", os.O_RDONLY, dir_fd=fd))
    os.remove("hard-by-fd", dir_fd=fd)
    os.remove("link-by-fd", dir_fd=fd)
    os.rmdir("by-fd-2", dir_fd=fd)
    os.listdir(fd)
    put(d + "/between")  # so that the two listings can be told apart
    list(os.scandir(fd))
    os.close(fd)
    os.listdir(d)
    list(os.scandir(d))
    list(os.walk(d))
    list(os.fwalk(d))
    os.unlink(d + "/link")
    os.removedirs(d + "/a/b/c")
    return d


def metadata(d):
    """Content and metadata, by name and by descriptor."""
    f = d + "/f"
    os.symlink("f", d + "/meta-link")
    os.truncate(f, 3)
    os.chmod(f, 0o600)
    os.chmod(d + "/meta-link", 0o640)
    os.chown(f, -1, -1)
    os.lchown(f, -1, -1)
    os.utime(f)
    os.utime(f, (1, 2))
    told.follow = True
    os.utime(d + "/meta-link", (5, 6))
    told.follow = False
    os.utime(d + "/meta-link", (1, 2), follow_symlinks=False)
    os.lchown(d + "/meta-link", -1, -1)
    del told.follow
    xattrs = (errno.EOPNOTSUPP, errno.ENODATA, 0)
    for act in (
        lambda: os.setxattr(f, "user.one", b"1"),
        lambda: os.getxattr(f, "user.one"),
        lambda: os.listxattr(f),
        lambda: os.removexattr(f, "user.one"),
    ):
        try:
            act()
        except OSError as e:
            assert e.errno in xattrs, e
    fd = os.open(f, os.O_RDWR)
    os.truncate(fd, 2)
    os.ftruncate(fd, 2)
    os.chmod(fd, 0o600)
    os.chown(fd, -1, -1)
    os.utime(fd, (3, 4))
    for act in (
        lambda: os.setxattr(fd, "user.two", b"1"),
        lambda: os.getxattr(fd, "user.two"),
        lambda: os.listxattr(fd),
        lambda: os.removexattr(fd, "user.two"),
    ):
        try:
            act()
        except OSError as e:
            assert e.errno in xattrs, e
    fcntl.fcntl(fd, fcntl.F_GETFL)
    fcntl.flock(fd, fcntl.LOCK_EX)
    fcntl.lockf(fd, fcntl.LOCK_EX)
    os.lockf(fd, os.F_ULOCK, 0)
    fcntl.ioctl(fd, 0x541B, array.array("i", [0]))  # FIONREAD
    try:
        fcntl.ioctl(fd, FS_IOC_SETFLAGS, struct.pack("l", 0))
    except OSError as e:
        assert e.errno in (errno.ENOTTY, errno.EOPNOTSUPP, errno.EPERM), e
    mmap.mmap(fd, 0).close()
    os.close(fd)
    r, w = socket.socketpair()
    fcntl.fcntl(r.fileno(), F_SETOWN, os.getpid())
    fcntl.ioctl(r.fileno(), FIOSETOWN, struct.pack("i", os.getpid()))
    r.close()
    w.close()


def library(d):
    """Library calls that raise events of their own."""
    put(d + "/src")
    shutil.copyfile(d + "/src", d + "/dst")
    shutil.copymode(d + "/src", d + "/dst")
    shutil.copystat(d + "/src", d + "/dst")
    shutil.copytree(d, d + "-copy")
    shutil.move(d + "/dst", d + "/dst2")
    shutil.chown(d + "/src", os.getuid())
    shutil.make_archive(d + "-archive", "tar", os.path.abspath(d), ".")
    shutil.unpack_archive(d + "-archive.tar", d + "-unpacked", **({"filter": "data"} if sys.version_info >= (3, 12) else {}))
    shutil.rmtree(d + "-copy")
    fd, name = tempfile.mkstemp()
    os.close(fd)
    os.unlink(name)
    os.rmdir(tempfile.mkdtemp())
    glob.glob(d + "/*")
    list(pathlib.Path(d).glob("*"))
    list(pathlib.Path(d).rglob("*"))


def denied(d, index):
    """What the policy refuses is told to both. Each thread is refused something else, for
    equal refusals are folded."""
    n = f"{OUTSIDE}/{threading.get_native_id()}"
    fails([errno.EPERM], open, n, "w")
    fails([errno.EPERM], os.mkdir, n)
    fails([errno.EPERM], os.rename, d + "/f", n)
    fails([errno.EPERM], os.symlink, "x", n)
    fails([errno.ENOENT], open, f"hidden/{index}")
    fails([errno.ENOENT], os.listxattr, f"hidden/{index}")
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    fails([errno.EPERM], s.connect, ("192.0.2.1", 1000 + index))
    fails([errno.EPERM], s.bind, ("0.0.0.0", 20000 + index))
    fails([errno.EPERM], s.sendto, b"x", ("192.0.2.1", 1000 + index))
    s.close()


def sockets(d):
    """Addresses of every family that the policy knows."""
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.bind(("127.0.0.1", 0))
    server.listen(1)
    client = socket.create_connection(server.getsockname())  # getaddrinfo, then connect
    peer, _ = server.accept()
    for s in (client, peer, server):
        s.close()
    a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    a.bind(("127.0.0.1", 0))
    b.sendto(b"x", a.getsockname())
    b.sendmsg([b"x"], [], 0, a.getsockname())
    b.connect(a.getsockname())
    b.sendmsg([b"x"])
    a.close()
    b.close()
    six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    try:
        six.connect(("::1", 9))
    except OSError as e:
        assert e.errno in (errno.EADDRNOTAVAIL, errno.ENETUNREACH), e
    six.close()
    path = d + "/sock"
    u = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    v = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    u.bind(path)
    os.symlink("sock", d + "/sock-link")
    v.connect(d + "/sock-link")
    v.sendto(b"x", path)
    fails([errno.ENOENT], v.connect, d + "/no-sock")
    fails([errno.EADDRINUSE], v.bind, path)
    name = b"\0ptguard-audit-%d" % threading.get_native_id()
    v.bind(name)
    u.sendto(b"x", name)
    u.close()
    v.close()


def lookups():
    """Names of hosts and services: the C library reads its files."""
    socket.getaddrinfo("127.0.0.1", 80, socket.AF_INET, socket.SOCK_STREAM, 0, socket.AI_NUMERICHOST)
    socket.getnameinfo(("127.0.0.1", 80), socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)
    socket.gethostbyname("127.0.0.1")
    socket.gethostbyaddr("127.0.0.1")
    socket.gethostname()
    socket.getservbyname("ssh")
    socket.getservbyport(22)
    fails([errno.EPERM], socket.sethostname, "other")
    fails([errno.EAFNOSUPPORT], socket.socket, socket.AF_VSOCK, socket.SOCK_STREAM)


def processes(d):
    """Children of every kind."""
    pid = os.fork()
    if pid == 0:
        put(d + "/child")
        os._exit(0)
    os.waitpid(pid, 0)
    pid = os.fork()
    if pid == 0:
        put(d + "/execs")
        fails([errno.ENOENT], os.execv, d + "/no-program", ["x"])
        os.execv("/bin/true", ["true"])
    os.waitpid(pid, 0)
    pid = os.fork()
    if pid == 0:
        os.environ["PATH"] = os.path.abspath(d) + ":/usr/bin:/bin"
        os.execvp("true", ["true"])
    os.waitpid(pid, 0)
    pid, fd = os.forkpty()
    if pid == 0:
        os.mkdir(d + "/forkpty")
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(fd)
    os.waitpid(os.posix_spawn("/bin/true", ["true"], os.environ), 0)
    os.waitpid(os.posix_spawnp("true", ["true"], os.environ), 0)
    os.spawnv(os.P_WAIT, "/bin/true", ["true"])
    pty.spawn(["/bin/true"])
    ctypes.CDLL(None)
    os.system(":")
    subprocess.run(["/bin/true"], check=True)
    subprocess.run("exit 0", shell=True, check=True)
    fails([errno.ENOENT], subprocess.run, [os.path.abspath(d) + "/no-program"])
    os.putenv("AUDIT", "1")
    os.unsetenv("AUDIT")
    child = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE)
    os.kill(child.pid, 0)
    os.kill(os.getpid(), signal.SIGCONT)
    os.killpg(os.getpgrp(), 0)
    signal.pthread_kill(threading.get_ident(), signal.SIGCONT)
    limits = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, limits)
    resource.prlimit(0, resource.RLIMIT_CORE, limits)
    resource.prlimit(child.pid, resource.RLIMIT_CORE, limits)
    child.communicate()


def folders(d):
    """The current directory belongs to the process, so only one thread moves."""
    os.chdir(d)
    put("relative")
    os.listdir()
    fd = os.open("..", os.O_RDONLY)
    os.fchdir(fd)
    os.close(fd)
    sys.path.insert(0, os.path.abspath(d))
    put(d + "/audit_module.py", "x = 1\n")
    import audit_module  # noqa: F401
    io.open_code(os.path.abspath(d) + "/audit_module.py").close()


def mixed(index):
    d = names()
    metadata(d)
    denied(d, index)
    sockets(d)


failures = []


def thread(ready, index):
    try:
        ready.wait()
        mixed(index)
    except BaseException as e:
        failures.append(e)
        raise


sys.addaudithook(hook)
os.mkdir("begin")
d = names()
metadata(d)
library(d)
denied(d, 0)
sockets(d)
lookups()
folders(d)
processes(d)
ready = threading.Barrier(4)
threads = [threading.Thread(target=thread, args=(ready, i)) for i in range(1, 5)]
for t in threads:
    t.start()
for t in threads:
    t.join()
os.mkdir("end")
sys.exit(1 if failures else 0)
