// SPDX-License-Identifier: Apache-2.0
//
// contained PROGRAM ARG…: executes a program in what stands for a stock container: without
// CAP_SYS_PTRACE and CAP_SYS_ADMIN for root, and under a seccomp filter that answers EPERM to
// pidfd_getfd, unshare and mseal. Like a runtime, it loads the filter before it gives the
// capabilities up; a user has to set no_new_privs for that.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

#if defined __x86_64__
#define AUDIT AUDIT_ARCH_X86_64
#else
#define AUDIT AUDIT_ARCH_AARCH64
#endif

static void must(long r, const char *what)
{
	if (r < 0) {
		fprintf(stderr, "contained: %s: %s\n", what, strerror(errno));
		exit(125);
	}
}

int main(int argc, char **argv)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_getfd, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mseal, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog filter = {sizeof code / sizeof *code, code};
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct caps[2];

	if (argc < 2) {
		fprintf(stderr, "usage: contained PROGRAM ARG...\n");
		return 125;
	}
	if (geteuid() != 0)
		must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter), "seccomp");
	if (geteuid() == 0) {
		must(prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0), "drop CAP_SYS_PTRACE");
		must(prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0), "drop CAP_SYS_ADMIN");
		must(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0), "clear ambient");
		must(syscall(SYS_capget, &head, caps), "capget");
		caps[0].inheritable = caps[1].inheritable = 0;
		must(syscall(SYS_capset, &head, caps), "capset");
	}
	execvp(argv[1], argv + 1);
	must(-1, argv[1]);
}
