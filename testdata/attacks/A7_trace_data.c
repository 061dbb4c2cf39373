// SPDX-License-Identifier: Apache-2.0
// A filter of its own returns TRACE with data that could be taken for a verdict. Without a tracer
// TRACE gives ENOSYS; there the open alone shows what the act is.
#include "attack.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ioctl.h>

// filter_on makes one call number give an action, all others be allowed.
static long filter_on(int nr, unsigned action, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

int main(void)
{
	if (getppid() != number("ATTACK_RUNNER", 0))
		for (unsigned data = 0; data < 4; data++)
			must(filter_on(SYS_openat, SECCOMP_RET_TRACE | (data * 0x5555), 0), "seccomp");
	verdict_secret((int)syscall(SYS_openat, AT_FDCWD, "secret", O_RDONLY));
}
