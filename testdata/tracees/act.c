// SPDX-License-Identifier: Apache-2.0
// act NAME ARG... does one system call and prints "ok", or the errno's name, on a line.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/quota.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static char **a; // arguments after the name

static int say(long r)
{
	if (r >= 0)
		puts("ok");
	else
		puts(strerrorname_np(errno) ? strerrorname_np(errno) : "unknown errno");
	return 0;
}

static int inet(int type, int *len, struct sockaddr_storage *ss)
{
	memset(ss, 0, sizeof *ss);
	if (strchr(a[0], ':')) {
		struct sockaddr_in6 *s = (void *)ss;
		s->sin6_family = AF_INET6;
		s->sin6_port = htons(atoi(a[1]));
		inet_pton(AF_INET6, a[0], &s->sin6_addr);
		*len = sizeof *s;
	} else {
		struct sockaddr_in *s = (void *)ss;
		s->sin_family = AF_INET;
		s->sin_port = htons(atoi(a[1]));
		inet_pton(AF_INET, a[0], &s->sin_addr);
		*len = sizeof *s;
	}
	return socket(ss->ss_family, type, 0);
}

static int un(int *len, struct sockaddr_un *s)
{
	memset(s, 0, sizeof *s);
	s->sun_family = AF_UNIX;
	strncpy(s->sun_path, a[0], sizeof s->sun_path - 1);
	*len = offsetof(struct sockaddr_un, sun_path) + strlen(a[0]);
	if (s->sun_path[0] == '@')
		s->sun_path[0] = 0;
	else
		++*len;
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static long clone3_fork(unsigned long flags)
{
	struct clone_args c = {.flags = flags, .exit_signal = SIGCHLD};
	long r = syscall(SYS_clone3, &c, sizeof c);
	if (r == 0)
		_exit(0);
	if (r > 0)
		waitpid(r, 0, 0);
	return r;
}

#if defined(__x86_64__)
// int 0x80 takes 32-bit pointers, so path is copied below 4 GiB.
static long open32(const char *path, int flags)
{
	char *low = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long r;
	strcpy(low, path);
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(5L), "b"(low), "c"((long)flags), "d"(0644L) : "memory", "r8", "r9", "r10", "r11");
	if (r < 0) {
		errno = -r;
		return -1;
	}
	return r;
}
#endif

int main(int argc, char **argv)
{
	const char *n = argv[1];
	struct sockaddr_storage ss;
	struct sockaddr_un su;
	struct timeval tv[2] = {{1000, 0}, {1000, 0}};
	int len, s, fd;
	long r;
	setvbuf(stdout, 0, _IOLBF, 0);
	if (argc < 2)
		return 2;
	a = argv + 2;
#define IS(x) if (!strcmp(n, x))
	// files
	IS("open-r") return say(open(a[0], O_RDONLY));
	IS("open-w") return say(open(a[0], O_WRONLY));
	IS("open-rw") return say(open(a[0], O_RDWR));
	IS("open-append") return say(open(a[0], O_WRONLY | O_APPEND));
	IS("open-trunc") return say(open(a[0], O_RDONLY | O_TRUNC));
	IS("open-creat") return say(open(a[0], O_WRONLY | O_CREAT, 0644));
	IS("open-excl") return say(open(a[0], O_WRONLY | O_CREAT | O_EXCL, 0644));
	IS("open-tmpfile") return say(open(a[0], O_WRONLY | O_TMPFILE, 0644));
	IS("creat") return say(syscall(SYS_creat, a[0], 0644));
	IS("open-old") return say(syscall(SYS_open, a[0], O_WRONLY, 0));
	IS("openat2") {
		struct open_how h = {.flags = O_WRONLY};
		return say(syscall(SYS_openat2, AT_FDCWD, a[0], &h, sizeof h));
	}
	IS("openat-dirfd") { // DIR NAME
		fd = open(a[0], O_PATH | O_DIRECTORY);
		return say(openat(fd, a[1], O_WRONLY));
	}
	IS("reopen") { // open read-only, then ask for more through /proc/self/fd
		char p[64];
		fd = open(a[0], O_RDONLY);
		snprintf(p, sizeof p, "/proc/self/fd/%d", fd);
		return say(open(p, O_RDWR));
	}
	IS("unlink") return say(syscall(SYS_unlink, a[0]));
	IS("unlinkat") return say(unlinkat(AT_FDCWD, a[0], 0));
	IS("rmdir") return say(syscall(SYS_rmdir, a[0]));
	IS("rmdirat") return say(unlinkat(AT_FDCWD, a[0], AT_REMOVEDIR));
	IS("rename") return say(syscall(SYS_rename, a[0], a[1]));
	IS("renameat") return say(syscall(SYS_renameat, AT_FDCWD, a[0], AT_FDCWD, a[1]));
	IS("renameat2") return say(syscall(SYS_renameat2, AT_FDCWD, a[0], AT_FDCWD, a[1], 0));
	IS("exchange") return say(renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], RENAME_EXCHANGE));
	IS("mkdir") return say(syscall(SYS_mkdir, a[0], 0755));
	IS("mkdirat") return say(mkdirat(AT_FDCWD, a[0], 0755));
	IS("link") return say(syscall(SYS_link, a[0], a[1]));
	IS("linkat") return say(linkat(AT_FDCWD, a[0], AT_FDCWD, a[1], AT_SYMLINK_FOLLOW));
	IS("symlink") return say(syscall(SYS_symlink, a[0], a[1]));
	IS("symlinkat") return say(symlinkat(a[0], AT_FDCWD, a[1]));
	IS("mkfifo") return say(syscall(SYS_mknod, a[0], S_IFIFO | 0644, 0));
	IS("mknodat") return say(mknodat(AT_FDCWD, a[0], S_IFREG | 0644, 0));
	IS("mknod-c") return say(mknod(a[0], S_IFCHR | 0600, makedev(1, 3)));
	IS("mknod-b") return say(mknod(a[0], S_IFBLK | 0600, makedev(7, 0)));
	IS("truncate") return say(truncate(a[0], 0));
	IS("chmod") return say(syscall(SYS_chmod, a[0], 0600));
	IS("fchmodat") return say(fchmodat(AT_FDCWD, a[0], 0600, 0));
	IS("chown") return say(syscall(SYS_chown, a[0], -1, getgid()));
	IS("lchown") return say(syscall(SYS_lchown, a[0], -1, getgid()));
	IS("fchownat") return say(fchownat(AT_FDCWD, a[0], -1, getgid(), 0));
	IS("utimensat") return say(utimensat(AT_FDCWD, a[0], 0, 0));
	IS("utime") return say(syscall(SYS_utime, a[0], 0));
	IS("utimes") return say(syscall(SYS_utimes, a[0], tv));
	IS("futimesat") return say(syscall(SYS_futimesat, AT_FDCWD, a[0], tv));
	IS("setxattr") return say(setxattr(a[0], "user.x", "1", 1, 0));
	IS("removexattr") return say(removexattr(a[0], "user.x"));
	IS("mmap-exec") {
		fd = open(a[0], O_RDONLY);
		return say(fd < 0 ? -1 : mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
	}
	IS("mprotect-exec") {
		fd = open(a[0], O_RDONLY);
		void *m = mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
		return say(fd < 0 || m == MAP_FAILED ? -1 : mprotect(m, 4096, PROT_READ | PROT_EXEC));
	}
	// programs
	IS("exec") {
		execv(a[0], a);
		return say(-1);
	}
	IS("fexec") {
		fd = open(a[0], O_RDONLY);
		syscall(SYS_execveat, fd, "", a, environ, AT_EMPTY_PATH);
		return say(-1);
	}
	IS("memfd-exec") {
		fd = memfd_create("x", 0);
		char buf[65536];
		int in = open(a[0], O_RDONLY);
		while ((r = read(in, buf, sizeof buf)) > 0)
			if (write(fd, buf, r) != r)
				return 3;
		syscall(SYS_execveat, fd, "", a, environ, AT_EMPTY_PATH);
		return say(-1);
	}
	// sockets: HOST PORT, or a path, or @name
	IS("connect") { s = inet(SOCK_STREAM, &len, &ss); return say(connect(s, (void *)&ss, len)); }
	IS("connect-udp") { s = inet(SOCK_DGRAM, &len, &ss); return say(connect(s, (void *)&ss, len)); }
	IS("bind") {
		s = inet(SOCK_STREAM, &len, &ss);
		int one = 1;
		setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
		return say(bind(s, (void *)&ss, len));
	}
	IS("sendto") { s = inet(SOCK_DGRAM, &len, &ss); return say(sendto(s, "x", 1, 0, (void *)&ss, len)); }
	IS("sendmsg") {
		s = inet(SOCK_DGRAM, &len, &ss);
		struct iovec iov = {"x", 1};
		struct msghdr m = {.msg_name = &ss, .msg_namelen = len, .msg_iov = &iov, .msg_iovlen = 1};
		return say(sendmsg(s, &m, 0));
	}
	IS("sendmmsg") {
		s = inet(SOCK_DGRAM, &len, &ss);
		struct iovec iov = {"x", 1};
		struct mmsghdr m = {.msg_hdr = {.msg_name = &ss, .msg_namelen = len, .msg_iov = &iov, .msg_iovlen = 1}};
		return say(sendmmsg(s, &m, 1, 0));
	}
	IS("connect-unix") { s = un(&len, &su); return say(connect(s, (void *)&su, len)); }
	IS("bind-unix") { s = un(&len, &su); return say(bind(s, (void *)&su, len)); }
	// processes and the machine
	IS("unshare-user") return say(unshare(CLONE_NEWUSER));
	IS("unshare-mount") return say(unshare(CLONE_NEWNS));
	IS("clone-newuser") {
		r = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
		if (r == 0)
			_exit(0);
		if (r > 0)
			waitpid(r, 0, 0);
		return say(r);
	}
	IS("clone3") return say(clone3_fork(0));
	IS("setns") {
		fd = open("/proc/self/ns/uts", O_RDONLY);
		return say(setns(fd, 0));
	}
	IS("mount") {
		r = mount("none", a[0], "tmpfs", 0, 0);
		say(r);
		if (r == 0)
			umount(a[0]);
		return 0;
	}
	IS("fsopen") return say(syscall(SYS_fsopen, "tmpfs", 0));
	IS("open_tree") return say(syscall(SYS_open_tree, AT_FDCWD, a[0], 1 /* OPEN_TREE_CLONE */));
	IS("chroot") return say(chroot(a[0]));
	IS("pivot_root") return say(syscall(SYS_pivot_root, a[0], a[0]));
	IS("quotactl") {
		struct dqblk d;
		return say(quotactl(QCMD(Q_SYNC, USRQUOTA), 0, 0, (void *)&d));
	}
	IS("traceme") return say(ptrace(PTRACE_TRACEME, 0, 0, 0));
	IS("process_vm_readv") { // of the parent, which under ptguard is ptguard
		char maps[64], line[64] = "";
		unsigned long at = 0x1000;
		snprintf(maps, sizeof maps, "/proc/%d/maps", getppid());
		FILE *f = fopen(maps, "r");
		if (f && fgets(line, sizeof line, f)) at = strtoul(line, 0, 16);
		if (f) fclose(f);
		char buf[8];
		struct iovec l = {buf, 8}, o = {(void *)at, 8};
		return say(process_vm_readv(getppid(), &l, 1, &o, 1, 0));
	}
	IS("process_vm_readv-child") { // inside the tree
		int p = fork();
		if (p == 0) {
			pause();
			_exit(0);
		}
		char buf[8];
		struct iovec l = {buf, 8}, o = {&a, 8};
		r = process_vm_readv(p, &l, 1, &o, 1, 0);
		say(r);
		kill(p, SIGKILL);
		waitpid(p, 0, 0);
		return 0;
	}
	IS("pidfd_open") return say(syscall(SYS_pidfd_open, getppid(), 0));
	IS("io_uring_setup") {
		struct io_uring_params p = {0};
		return say(syscall(SYS_io_uring_setup, 4, &p));
	}
	IS("bpf") {
		union bpf_attr b = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
		return say(syscall(SYS_bpf, BPF_MAP_CREATE, &b, sizeof b));
	}
	IS("keyctl") return say(syscall(SYS_keyctl, 0 /* KEYCTL_GET_KEYRING_ID */, -3, 1));
	IS("add_key") return say(syscall(SYS_add_key, "user", "k", "v", 1, -3));
	IS("userfaultfd") return say(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */));
	IS("userfaultfd-full") return say(syscall(SYS_userfaultfd, 0));
	IS("memfd_secret") return say(syscall(SYS_memfd_secret, 0));
	IS("open_by_handle_at") {
		struct {
			struct file_handle h;
			char room[128];
		} h = {.h.handle_bytes = 128};
		int id;
		if (name_to_handle_at(AT_FDCWD, a[0], &h.h, &id, 0) < 0)
			return say(-1);
		fd = open(a[0], O_RDONLY);
		return say(open_by_handle_at(fd, &h.h, O_RDONLY));
	}
	IS("seccomp-listener") {
		struct sock_filter f[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
		struct sock_fprog p = {1, f};
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
		return say(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &p));
	}
	IS("prlimit") { // PID
		struct rlimit l = {64, 64};
		return say(prlimit(atoi(a[0]), RLIMIT_NOFILE, &l, 0));
	}
	IS("tiocsti") {
		char c = 'x';
		return say(ioctl(0, TIOCSTI, &c));
	}
	IS("tioclinux") {
		char c = 6; // TIOCL_GETSHIFTSTATE
		return say(ioctl(0, TIOCLINUX, &c));
	}
	IS("tiocsetd") {
		int l = 0; // N_TTY, which it has already
		return say(ioctl(0, TIOCSETD, &l));
	}
	IS("number") return say(syscall(strtol(a[0], 0, 0), 0, 0, 0, 0, 0, 0));
#if defined(__x86_64__)
	IS("int80-open") return say(open32(a[0], O_WRONLY));
	IS("int80-creat") return say(open32(a[0], O_WRONLY | O_CREAT));
	IS("x32-getpid") return say(syscall(0x40000000 | SYS_getpid));
#endif
	fprintf(stderr, "act: unknown act %s\n", n);
	return 2;
}
