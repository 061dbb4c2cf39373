// SPDX-License-Identifier: Apache-2.0
//
// listened CMD ARG…: executes CMD under a seccomp filter that lets everything through and has a
// notification listener, as a container manager's that intercepts system calls.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, allow};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program) < 0) {
		perror("listened");
		return 9;
	}
	// The listener is open in CMD, and close-on-exec by the kernel's doing is taken off.
	for (int fd = 3; fd < 64; fd++)
		dup2(fd, fd + 64);
	execvp(argv[1], argv + 1);
	perror("listened: exec");
	return 9;
}
