// SPDX-License-Identifier: Apache-2.0
// A filter with a listener of its own, which answers "continue": it would beat any tracer.
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

static int listener;

static void *allow(void *arg)
{
	for (;;) {
		struct seccomp_notif q = {0};
		struct seccomp_notif_resp a = {0};
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &q))
			continue;
		a.id = q.id, a.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &a);
	}
	return arg;
}

int main(void)
{
	listener = (int)filter_on(SYS_openat, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	if (listener < 0)
		refused();
	start(allow, NULL);
	verdict_secret((int)syscall(SYS_openat, AT_FDCWD, "secret", O_RDONLY));
}
