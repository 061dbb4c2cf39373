# SPDX-License-Identifier: Apache-2.0
# Makes the calls that the hardened profile refuses, in ways that work otherwise, and prints
# the errno's name, or 0, of each.
import ctypes, errno, os, platform, socket

libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == "aarch64"
numbers = {  # amd64, arm64
    "mbind": (237, 235), "get_mempolicy": (239, 236), "set_mempolicy": (238, 237),
    "process_vm_readv": (310, 270), "pidfd_getfd": (438, 438),
}
page = ctypes.create_string_buffer(8192)
pidfd = os.pidfd_open(os.getpid())
iov = (ctypes.c_void_p * 2)(ctypes.addressof(page), 8)
args = {
    "mbind": ((ctypes.addressof(page) + 4095) & ~4095, 4096, 0, 0, 0, 0), "get_mempolicy": (0, 0, 0, 0, 0), "set_mempolicy": (0, 0, 0),
    "process_vm_readv": (os.getpid(), iov, 1, iov, 1, 0), "pidfd_getfd": (pidfd, 0, 0),
}
for name, nr in numbers.items():
    ctypes.set_errno(0)
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in args[name]]
    r = libc.syscall(ctypes.c_long(nr[arm]), *words)
    print(name, errno.errorcode.get(ctypes.get_errno(), "?") if r < 0 else 0)
try:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    print("AF_NETLINK 0")
except OSError as e:
    print("AF_NETLINK", errno.errorcode[e.errno])
