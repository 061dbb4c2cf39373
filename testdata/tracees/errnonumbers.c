// SPDX-License-Identifier: Apache-2.0
// errnonumbers DIR makes every judged call that names its object by a number (a descriptor, a
// process) with right and wrong words, in a folder of its own, and prints "CALL SITUATION WORDS
// RESULT" for each.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef FIOSETOWN
#define FIOSETOWN 0x8901
#endif

static void say(const char *call, const char *on, int words, long r)
{
	printf("%s %s %d %s\n", call, on, words, r >= 0 ? "ok" : strerrorname_np(errno));
}

int main(int argc, char **argv)
{
	static char text[300], long_name[300];
	void *none = (void *)0x10000, *kernel = (void *)0xffff800000000000; // nothing is mapped there
	int self = getpid(), gone = fork(), pair[2], pipes[2], i, j, two[2];
	if (!gone)
		_exit(0);
	waitpid(gone, 0, 0);
	if (argc < 2 || mkdir(argv[1], 0755) || chdir(argv[1]) || socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) || pipe(pipes))
		return 2;
	signal(SIGIO, SIG_IGN), signal(SIGPIPE, SIG_IGN);
	memset(long_name, 'x', 299);
	memcpy(long_name, "user.", 5);
	close(open("f", O_CREAT | O_WRONLY, 0644));
	close(open("gone", O_CREAT | O_WRONLY, 0644));
	struct {
		const char *name;
		int fd;
	} on[] = {{"bad", -1}, {"closed", 999}, {"cwd", AT_FDCWD}, {"read", open("f", O_RDONLY)}, {"write", open("f", O_RDWR)}, {"path", open("f", O_PATH)},
		  {"dir", open(".", O_RDONLY)}, {"removed", open("gone", O_RDWR)}, {"pipe", pipes[0]}, {"socket", pair[0]}, {"pidfd", (int)syscall(SYS_pidfd_open, self, 0)}};
	unlink("gone");
	void *pointers[] = {text, 0, none, kernel};
	for (i = 0; i < 11; i++) {
		int fd = on[i].fd;
		const char *n = on[i].name, *names[] = {"user.a", "", long_name, "nothing.a", none, 0};
		say("fchmod", n, 0, syscall(SYS_fchmod, fd, 0644));
		say("fchown", n, 0, syscall(SYS_fchown, fd, -1, -1));
		for (j = 0; j < 6; j++) {
			say("fremovexattr", n, j, syscall(SYS_fremovexattr, fd, names[j]));
			say("fsetxattr", n, j, syscall(SYS_fsetxattr, fd, names[j], "v", 1L, 0));
		}
		say("fsetxattr", n, 10, syscall(SYS_fsetxattr, fd, "user.b", none, 1L, 0));
		say("fsetxattr", n, 11, syscall(SYS_fsetxattr, fd, "user.b", "v", 1L, 77));
		say("fsetxattr", n, 12, syscall(SYS_fsetxattr, fd, "user.b", "v", 70000L, 0));
		say("fsetxattr", n, 13, syscall(SYS_fsetxattr, fd, "user.absent", "v", 1L, 2));
		say("getdents64", n, 0, syscall(SYS_getdents64, fd, text, 4));
		say("getdents64", n, 1, syscall(SYS_getdents64, fd, none, 300));
		say("listen", n, 0, syscall(SYS_listen, fd, 1));
		for (j = 0; j < 4; j++) {
			int whom = j == 0 ? self : gone;
			say("ioctl owner", n, j, syscall(SYS_ioctl, fd, FIOSETOWN, j < 2 ? &whom : pointers[j]));
			two[0] = j == 0 ? 1 : 77, two[1] = self;
			say("fcntl owner", n, j, syscall(SYS_fcntl, fd, F_SETOWN_EX, j < 2 ? two : pointers[j]));
			if (j)
				say("sendmsg", n, j, syscall(SYS_sendmsg, fd, pointers[j], 0));
			say("sendmmsg", n, j, syscall(SYS_sendmmsg, fd, pointers[j], 0, 0));
			if (j)
				say("sendmmsg", n, 10 + j, syscall(SYS_sendmmsg, fd, pointers[j], 1, 0));
			if (j) // of an empty one the flags are set
				say("ioctl flags", n, j, syscall(SYS_ioctl, fd, FS_IOC_SETFLAGS, pointers[j]));
		}
		static const int owners[] = {0, INT_MIN};
		for (j = 0; j < 2; j++)
			say("fcntl F_SETOWN", n, j, syscall(SYS_fcntl, fd, F_SETOWN, owners[j]));
		say("mmap", n, 0, syscall(SYS_mmap, 0L, 4096L, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0L));
		say("mmap", n, 1, syscall(SYS_mmap, 0L, 0L, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0L));
		say("mmap", n, 2, syscall(SYS_mmap, 0L, 4096L, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 3L));
		say("pidfd_send_signal", n, 0, syscall(SYS_pidfd_send_signal, fd, 0, 0L, 0));
		say("pidfd_send_signal", n, 1, syscall(SYS_pidfd_send_signal, fd, 0, none, 0));
		say("pidfd_getfd", n, 1, syscall(SYS_pidfd_getfd, fd, 0, 7));
		say("pidfd_getfd", n, 2, syscall(SYS_pidfd_getfd, fd, 999, 0));
		say("process_mrelease", n, 0, syscall(SYS_process_mrelease, fd, 1));
	}
	struct {
		const char *name;
		int pid;
	} at[] = {{"own", 0}, {"self", self}, {"minus", -1}, {"least", INT_MIN}, {"gone", gone}};
	struct rlimit limit = {2, 1};
	struct sched_param param = {77};
	uint32_t attr[14] = {48, 77};
	for (i = 0; i < 5; i++) {
		int pid = at[i].pid;
		const char *n = at[i].name;
		say("kcmp", n, 0, syscall(SYS_kcmp, pid, self, 77, 0L, 0L));
		say("kcmp", n, 1, syscall(SYS_kcmp, self, pid, 0, 999L, 0L));
		say("pidfd_open", n, 0, syscall(SYS_pidfd_open, pid, 0));
		say("pidfd_open", n, 1, syscall(SYS_pidfd_open, pid, 77));
		say("prlimit64", n, 0, syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, 0L, 0L));
		say("prlimit64", n, 1, syscall(SYS_prlimit64, pid, 99, 0L, 0L));
		say("prlimit64", n, 2, syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, &limit, 0L));
		say("prlimit64", n, 3, syscall(SYS_prlimit64, pid, RLIMIT_NOFILE, 0L, none));
		say("sched_setaffinity", n, 0, syscall(SYS_sched_setaffinity, pid, 8, none));
		say("sched_setaffinity", n, 1, syscall(SYS_sched_setaffinity, pid, 8, text)); // no processor
		say("sched_setattr", n, 0, syscall(SYS_sched_setattr, pid, attr, 0));
		say("sched_setattr", n, 1, syscall(SYS_sched_setattr, pid, none, 0));
		say("sched_setattr", n, 2, syscall(SYS_sched_setattr, pid, 0L, 77));
		say("sched_setparam", n, 0, syscall(SYS_sched_setparam, pid, 0L));
		say("sched_setparam", n, 1, syscall(SYS_sched_setparam, pid, &param));
		say("sched_setscheduler", n, 0, syscall(SYS_sched_setscheduler, pid, 77, &param));
		say("sched_setscheduler", n, 1, syscall(SYS_sched_setscheduler, pid, 0, none));
		say("process_vm_readv", n, 0, syscall(SYS_process_vm_readv, pid, 0L, 0L, 0L, 0L, 77L));
		say("process_vm_readv", n, 1, syscall(SYS_process_vm_readv, pid, 0L, 0L, 0L, 0L, 0L));
		say("setpriority", n, 0, syscall(SYS_setpriority, PRIO_PROCESS, pid, getpriority(PRIO_PROCESS, 0)));
		say("ioprio_set", n, 0, syscall(SYS_ioprio_set, 1, pid, 7 << 13));
	}
	for (j = 1; j < 4; j++) {
		say("adjtimex", "pointer", j, syscall(SYS_adjtimex, pointers[j]));
		say("clock_adjtime", "pointer", j, syscall(SYS_clock_adjtime, 0, pointers[j]));
		say("clock_adjtime", "no clock", j, syscall(SYS_clock_adjtime, 77, pointers[j]));
	}
	for (j = 0; j < 2; j++) {
		void *where = j ? none : kernel;
		say("mprotect", "hole", j, syscall(SYS_mprotect, where, 4096L, PROT_READ | PROT_EXEC));
		say("mprotect", "odd", j, syscall(SYS_mprotect, (char *)where + 1, 4096L, PROT_READ | PROT_EXEC));
		say("pkey_mprotect", "no key", j, syscall(SYS_pkey_mprotect, where, 4096L, PROT_READ | PROT_EXEC, 99));
	}
	return chmod(argv[1], 0755) ? 3 : 0; // fchmod(2) of it has taken the right to enter
}
