// SPDX-License-Identifier: Apache-2.0
//
// noexecmap: with a filter of its own that refuses executable mappings, as a security module may,
// it executes itself anew, so that the window of before is gone, and makes calls that need one: binds
// a socket, in a forked child too.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int bound(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	strcpy(a.sun_path, name);
	return bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof a) ? errno : 0;
}

int main(int argc, char **argv)
{
	if (argc > 1) // the filter is there already, and the window of before is not
		goto filtered;
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {6, f};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
		perror("filter");
	execl("/proc/self/exe", argv[0], "filtered", NULL); // linked statically: it maps no library
	perror("exec");
filtered:;
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("map %s\n", p == MAP_FAILED ? strerror(errno) : "done");
	printf("bind %s\n", strerror(bound("one")));
	fflush(stdout);
	if (fork() == 0) {
		printf("child %s\n", strerror(bound("two")));
		printf("again %s\n", strerror(bound("two")));
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	printf("outside %s\n", strerror(bound("../outside/three")));
	return 0;
}
