// SPDX-License-Identifier: Apache-2.0
// signalwords sends signals whose words are wrong in some way, to itself and to a process that
// is gone, and prints one line each: what, and "ok" or the errno's name. With an argument, the
// pid of a process that it may signal, to that one too: no word of these is right.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, const char *who, long a, long b, long r)
{
	printf("%s %s %ld %ld: %s\n", what, who, a, b, r >= 0 ? "ok" : strerrorname_np(errno));
}

int main(int argc, char **argv)
{
	static const int codes[] = {SI_QUEUE, SI_USER, SI_TKILL, SI_KERNEL, -7, -8, -60, -61, CLD_EXITED};
	int self = getpid(), gone = fork(), i, j, k;
	long page = sysconf(_SC_PAGESIZE);
	char *end = mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	siginfo_t *info;
	if (!gone)
		_exit(0);
	waitpid(gone, 0, 0);
	mprotect(end + page, page, PROT_NONE);
	signal(SIGUSR1, SIG_IGN);
	struct {
		const char *who;
		int pid, other;
	} to[] = {{"self", self, 0}, {"gone", gone, 0}, {"zero", 0, 0}, {"minus", -1, 0}, {"least", (int)0x80000000, 0}, {"other", argc > 1 ? atoi(argv[1]) : 0, 1}};
	for (i = 0; i < 6; i++) {
		int pid = to[i].pid, other = to[i].other;
		const char *who = to[i].who;
		if (other && argc < 2)
			continue;
		static const int signals[] = {65, -1, 1000, 0, SIGUSR1};
		for (k = 0; k < (other ? 3 : 5); k++) {
			int sig = signals[k];
			// A group, or everybody, is more than this test wants.
			if (pid > 0 || pid == (int)0x80000000)
				say("kill", who, sig, 0, syscall(SYS_kill, pid, sig));
			say("tkill", who, sig, 0, syscall(SYS_tkill, pid, sig));
			say("tgkill", who, sig, 0, syscall(SYS_tgkill, pid, pid, sig));
			say("tgkill-self", who, sig, 0, syscall(SYS_tgkill, self, pid, sig));
			say("tgkill-of-self", who, sig, 0, syscall(SYS_tgkill, pid, self, sig));
			for (j = 0; j < 9; j++) {
				siginfo_t at = {0};
				at.si_code = codes[j];
				// Of the whole layouts the one with something behind what the kernel knows.
				for (int behind = 0; behind < 2; behind++) {
					((char *)&at)[100] = behind;
					say(behind ? "sigqueue+" : "sigqueue", who, sig, codes[j], syscall(SYS_rt_sigqueueinfo, pid, sig, &at));
					say(behind ? "tgsigqueue+" : "tgsigqueue", who, sig, codes[j], syscall(SYS_rt_tgsigqueueinfo, pid, pid, sig, &at));
					say(behind ? "tgsigqueue-self+" : "tgsigqueue-self", who, sig, codes[j], syscall(SYS_rt_tgsigqueueinfo, self, pid, sig, &at));
				}
			}
			info = (siginfo_t *)(end + page - 40); // less than the kernel wants to read
			say("sigqueue-end", who, sig, 0, syscall(SYS_rt_sigqueueinfo, pid, sig, info));
			say("sigqueue-null", who, sig, 0, syscall(SYS_rt_sigqueueinfo, pid, sig, 0));
			say("tgsigqueue-end", who, sig, 0, syscall(SYS_rt_tgsigqueueinfo, pid, pid, sig, info));
		}
		if (pid > 0 && !other) {
			int fd = syscall(SYS_pidfd_open, pid, 0);
			for (k = 0; k < 10; k++)
				say("pidfd", who, k, 0, syscall(SYS_pidfd_send_signal, fd, 0, 0, 1 << k));
			say("pidfd-two", who, 0, 0, syscall(SYS_pidfd_send_signal, fd, 0, 0, 3));
		}
	}
	say("pidfd", "bad", 0, 0, syscall(SYS_pidfd_send_signal, -1, 0, 0, 0));
	say("pidfd", "thread itself", 0, 0, syscall(SYS_pidfd_send_signal, -10000, 0, 0, 0));
	say("pidfd", "process itself", 0, 0, syscall(SYS_pidfd_send_signal, -10001, 0, 0, 0));
	for (i = -1; i < 5; i++)
		say("setpriority", "which", i, 0, syscall(SYS_setpriority, i, gone, 0));
	for (i = -1; i < 5; i++)
		say("ioprio_set", "which", i, 0, syscall(SYS_ioprio_set, i, gone, 3 << 13));
	say("setpriority", "minus group", 0, 0, setpriority(PRIO_PGRP, -self, 0));
	say("setpriority", "no user", 0, 0, setpriority(PRIO_USER, 3987654, 0));
	say("ioprio_set", "no class", 0, 0, syscall(SYS_ioprio_set, 2, 0, 7 << 13));
	return 0;
}
