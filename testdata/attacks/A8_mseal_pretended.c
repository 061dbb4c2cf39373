// SPDX-License-Identifier: Apache-2.0
// A filter makes mseal(2) do nothing and say 0. What ptguard seals in the next image would then
// not be sealed: unmapping it is the test.
// cc: -static
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

int main(int argc, char **argv)
{
	uintptr_t from, to;
	if (argc < 2) {
		must(filter_on(462, SECCOMP_RET_ERRNO | 0, 0), "seccomp");
		execl("/proc/self/exe", argv[0], "again", NULL);
		setup("exec");
	}
	if (!window(&from, &to)) {
		if (getppid() == number("ATTACK_RUNNER", 0))
			verdict_secret(open("secret", O_RDONLY)); // bare: nothing is sealed anyway
		finish("REFUSED", "no window");
	}
	if (!munmap((void *)from, to - from))
		succeeded();
	if (mmap((void *)from, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED)
		succeeded();
	refused();
}
