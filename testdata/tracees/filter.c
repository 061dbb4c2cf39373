// SPDX-License-Identifier: Apache-2.0
// Installs a seccomp filter of its own that answers mkdir with ERRNO, then shows that the
// filter holds and everything else goes on, in a child too.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdir, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDQUOT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {sizeof f / sizeof *f, f};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p)) {
		perror("seccomp");
		return 1;
	}
	int r = syscall(SYS_mkdir, "d", 0755);
	printf("mkdir %d quota %d\n", r, errno == EDQUOT);
	FILE *out = fopen("f", "w");
	printf("fopen %d\n", out != 0);
	fflush(stdout);
	int pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "echo child; cat f; mkdir d 2>/dev/null || echo no d", (char *)0);
		return 1;
	}
	int st;
	waitpid(pid, &st, 0);
	printf("child %d\n", st);
	return 0;
}
