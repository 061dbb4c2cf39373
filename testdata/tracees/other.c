// SPDX-License-Identifier: Apache-2.0
// other ACT PID does one act on another process (or its group) and prints "ok", or the
// errno's name.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define JUNK 0xdeadbeef00000000UL // the kernel drops the high half of int arguments

static int say(long r)
{
	if (r >= 0)
		puts("ok");
	else
		puts(strerrorname_np(errno) ? strerrorname_np(errno) : "unknown errno");
	return 0;
}

// Gives both ends of a socket pair whose input raises SIGTERM.
static void raising(int fd[2])
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) || fcntl(fd[0], F_SETSIG, SIGTERM))
		exit(3);
}

static int raise_now(long r, int fd[2])
{
	if (r < 0)
		return say(r);
	return say(fcntl(fd[0], F_SETFL, O_ASYNC) < 0 ? -1 : write(fd[1], "x", 1));
}

int main(int argc, char **argv)
{
	siginfo_t info = {.si_code = SI_QUEUE};
	struct rlimit limit = {20, 20};
	struct sched_param param = {0};
	struct {
		int type, pid;
	} owner;
	uint32_t attr[14] = {48, SCHED_IDLE};
	cpu_set_t cpus;
	char byte;
	struct iovec local = {&byte, 1}, remote;
	int fd[2], pid;
	if (argc < 3)
		return 2;
	pid = atoi(argv[2]);
#define IS(x) if (!strcmp(argv[1], x))
	IS("kill") return say(kill(pid, SIGTERM));
	IS("kill-junk") return say(syscall(SYS_kill, pid | JUNK, SIGTERM | JUNK));
	IS("kill-probe") return say(kill(pid, 0));
	IS("kill-group") return say(kill(-pid, SIGTERM));
	IS("tkill") return say(syscall(SYS_tkill, pid, SIGTERM));
	IS("tgkill") return say(syscall(SYS_tgkill, pid, pid, SIGTERM));
	IS("sigqueue") return say(syscall(SYS_rt_sigqueueinfo, pid, SIGTERM, &info));
	IS("tgsigqueue") return say(syscall(SYS_rt_tgsigqueueinfo, pid, pid, SIGTERM, &info));
	IS("pidfd") {
		int f = syscall(SYS_pidfd_open, pid, 0);
		return say(f < 0 ? -1 : syscall(SYS_pidfd_send_signal, f, SIGTERM, 0, 0));
	}
	IS("pidfd-proc") { // a directory of /proc is a pidfd too
		char path[32];
		snprintf(path, sizeof path, "/proc/%d", pid);
		fd[0] = open(path, O_DIRECTORY);
		return say(fd[0] < 0 ? -1 : syscall(SYS_pidfd_send_signal, fd[0], SIGTERM, 0, 0));
	}
	IS("setown") {
		raising(fd);
		return raise_now(fcntl(fd[0], F_SETOWN, pid), fd);
	}
	IS("setown-junk") {
		raising(fd);
		return raise_now(syscall(SYS_fcntl, fd[0], F_SETOWN | JUNK, pid | JUNK), fd);
	}
	IS("setown-group") {
		raising(fd);
		return raise_now(fcntl(fd[0], F_SETOWN, -pid), fd);
	}
	IS("setown-ex") {
		raising(fd);
		owner.type = F_OWNER_PID, owner.pid = pid;
		return raise_now(fcntl(fd[0], F_SETOWN_EX, &owner), fd);
	}
	IS("fiosetown") {
		raising(fd);
		return raise_now(ioctl(fd[0], FIOSETOWN, &pid), fd);
	}
	IS("siocspgrp") {
		int group = -pid;
		raising(fd);
		return raise_now(ioctl(fd[0], SIOCSPGRP, &group), fd);
	}
	IS("prlimit") return say(prlimit(pid, RLIMIT_NOFILE, &limit, 0));
	IS("prlimit-core") return say((limit.rlim_cur = limit.rlim_max = 0, prlimit(pid, RLIMIT_CORE, &limit, 0)));
	IS("prlimit-get") return say(prlimit(pid, RLIMIT_NOFILE, 0, &limit));
	IS("setpriority") return say(setpriority(PRIO_PROCESS, pid, 5));
	IS("setpriority-group") return say(setpriority(PRIO_PGRP, pid, 5));
	IS("ioprio") return say(syscall(SYS_ioprio_set, 1, pid, 3 << 13));
	IS("sched_setscheduler") return say(sched_setscheduler(pid, SCHED_IDLE, &param));
	IS("sched_setparam") return say(sched_setparam(pid, &param));
	IS("sched_setattr") return say(syscall(SYS_sched_setattr, pid, attr, 0));
	IS("sched_setaffinity") {
		if (sched_getaffinity(pid, sizeof cpus, &cpus))
			return 3;
		return say(sched_setaffinity(pid, sizeof cpus, &cpus));
	}
	IS("process_vm_readv") { // PID ADDRESS
		remote.iov_base = (void *)strtoul(argv[3], 0, 16);
		remote.iov_len = 1;
		return say(syscall(SYS_process_vm_readv, pid, &local, 1, &remote, 1, 0));
	}
	fprintf(stderr, "other: no act %s\n", argv[1]);
	return 2;
}
