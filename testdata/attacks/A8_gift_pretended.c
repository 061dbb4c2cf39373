// SPDX-License-Identifier: Apache-2.0
// A filter makes the call by which the window's descriptor comes say 0: descriptor 0 is then a
// memfd of ours, with code of ours that pretends that the set-up went well. What ptguard takes
// for its window would be our memory.
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
	if (argc < 2) {
		int fd = memfd_create("own", 0);
		must(fd, "memfd_create");
		must(ftruncate(fd, 1 << 20), "ftruncate");
		unsigned char *m = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (m == MAP_FAILED)
			setup("mmap");
		memset(m, 0x90, 1 << 20); // nop; at the end of each page: r12 = 0, trap
		static const unsigned char trap[] = {0x4d, 0x31, 0xe4, 0xb8, 0xfe, 0xff, 0x03, 0, 0x0f, 5, 0x0f, 0x0b};
		for (int i = 4096; i <= 1 << 20; i += 4096)
			memcpy(m + i - sizeof trap, trap, sizeof trap);
		must(dup2(fd, 0), "dup2");
		must(filter_on(0x3ffff, SECCOMP_RET_ERRNO | 0, 0), "seccomp");
		execl("/proc/self/exe", argv[0], "again", NULL);
		setup("exec");
	}
	int fd = open("secreT", O_RDONLY); // the set-up, if libc has made no call that needs it
	(void)fd;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	if (!f && getppid() != number("ATTACK_RUNNER", 0))
		finish("REFUSED", "no call that needs the window is let through");
	while (f && fgets(line, sizeof line, f))
		if (strstr(line, "memfd:own"))
			succeeded();
	if (getppid() == number("ATTACK_RUNNER", 0))
		verdict_secret(open("secret", O_RDONLY));
	finish("REFUSED", "our memory is not mapped");
}
