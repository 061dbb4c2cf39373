// SPDX-License-Identifier: Apache-2.0
// floor STATS FILTER CMD...: the least that a ptrace guard can do. It loads the seccomp program
// in FILTER, follows the whole tree, and at each seccomp stop reads the registers and the
// path, if the call has one, and lets the call continue. It decides nothing and protects
// nothing. At the end it writes the number of its stops to STATS.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sock_filter program[4096];
static struct sock_fprog loaded = {.filter = program};

static void fail(const char *what)
{
	perror(what);
	_exit(125);
}

// Which argument points at a path or an address: 0, 1, or -1 for none.
static int pointer(long nr)
{
	switch (nr) {
#ifdef SYS_open
	case SYS_open: case SYS_creat: case SYS_stat: case SYS_lstat: case SYS_access: case SYS_unlink:
	case SYS_rename: case SYS_mkdir: case SYS_rmdir: case SYS_link: case SYS_symlink: case SYS_readlink:
	case SYS_chmod: case SYS_chown: case SYS_lchown: case SYS_mknod: case SYS_utime: case SYS_utimes:
#endif
	case SYS_execve: case SYS_chdir: case SYS_truncate: case SYS_statfs: case SYS_symlinkat:
	case SYS_getxattr: case SYS_lgetxattr: case SYS_setxattr: case SYS_lsetxattr: case SYS_listxattr:
		return 0;
	case SYS_openat: case SYS_openat2: case SYS_unlinkat: case SYS_mkdirat: case SYS_mknodat: case SYS_fchmodat:
	case SYS_fchownat: case SYS_faccessat: case SYS_faccessat2: case SYS_readlinkat: case SYS_linkat:
	case SYS_renameat2: case SYS_utimensat: case SYS_statx: case SYS_execveat: case SYS_connect: case SYS_bind:
#ifdef SYS_newfstatat
	case SYS_newfstatat:
#endif
#ifdef SYS_renameat
	case SYS_renameat:
#endif
		return 1;
	}
	return -1;
}

#ifdef __x86_64__
typedef struct user_regs_struct regs;
#define NR(r) ((long)(r).orig_rax)
#define ARG(r, i) ((i) ? (r).rsi : (r).rdi)
#else
typedef struct user_pt_regs regs;
#define NR(r) ((long)(r).regs[8])
#define ARG(r, i) ((r).regs[i])
#endif

static void look(pid_t pid)
{
	static char text[256];
	regs r;
#ifdef __x86_64__
	if (ptrace(PTRACE_GETREGS, pid, 0, &r))
		return;
#else
	struct iovec v = {&r, sizeof r};
	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &v))
		return;
#endif
	int i = pointer(NR(r));
	if (i < 0)
		return;
	struct iovec here = {text, sizeof text}, there = {(void *)ARG(r, i), sizeof text};
	process_vm_readv(pid, &here, 1, &there, 1, 0);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 125;
	FILE *f = fopen(argv[2], "re");
	if (!f)
		fail(argv[2]);
	loaded.len = (unsigned short)fread(program, sizeof program[0], 4096, f);
	fclose(f);
	int go[2], status;
	if (pipe2(go, 02000000 /* O_CLOEXEC */))
		fail("pipe");
	pid_t first = fork();
	if (first < 0)
		fail("fork");
	if (!first) {
		char byte;
		close(go[1]);
		if (read(go[0], &byte, 1) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &loaded))
			fail("filter");
		execvp(argv[3], argv + 3);
		fail(argv[3]);
	}
	if (ptrace(PTRACE_SEIZE, first, 0, PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
	           PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL))
		fail("ptrace");
	close(go[1]);
	signal(SIGINT, SIG_IGN);
	unsigned long stops = 0;
	int code = 125;
	for (;;) {
		pid_t pid = waitpid(-1, &status, __WALL);
		if (pid < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		if (!WIFSTOPPED(status)) {
			if (pid == first)
				code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			continue;
		}
		stops++;
		int event = status >> 16, sig = WSTOPSIG(status);
		if (event == PTRACE_EVENT_SECCOMP) {
			look(pid);
			sig = 0;
		} else if (event == PTRACE_EVENT_STOP && sig != SIGTRAP) { // a group stop
			ptrace(PTRACE_LISTEN, pid, 0, 0);
			continue;
		} else if (event) {
			sig = 0;
		}
		ptrace(PTRACE_CONT, pid, 0, sig);
	}
	f = fopen(argv[1], "we");
	if (!f || fprintf(f, "%lu\n", stops) < 0 || fclose(f))
		fail(argv[1]);
	return code;
}
