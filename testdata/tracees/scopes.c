// SPDX-License-Identifier: Apache-2.0
// scopes ACT [ARG]: what tests do about scopes. Prints "ok" or the errno's name a line.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, long r)
{
	printf("%s %s\n", what, r >= 0 ? "ok" : strerrorname_np(errno));
	fflush(stdout);
}

static void tell(const char *what)
{
	char buf[64];
	ssize_t n = readlink("/run/ptguard/scope", buf, sizeof buf);
	printf("%s %.*s\n", what, n < 0 ? 1 : (int)n, n < 0 ? "-" : buf);
	fflush(stdout);
}

static const char *file;

static void *narrowed(void *unused)
{
	say("narrow", mkdir("/run/ptguard/scope/user", 0777));
	tell("thread");
	say("thread opens", open(file, O_RDONLY));
	return unused;
}

// A child that waits until its standard input ends, started by fork or, with a program, exec.
static pid_t start(char **argv, int *in, int *out)
{
	int i[2], o[2];
	if (pipe2(i, O_CLOEXEC) || pipe2(o, O_CLOEXEC))
		exit(3);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(i[0], 0);
		dup2(o[1], 1);
		if (argv[0])
			execv(argv[0], argv);
		_exit(4);
	}
	close(i[0]);
	close(o[1]);
	*in = i[1], *out = o[0];
	return pid;
}

int main(int argc, char **argv)
{
	const char *act = argc > 1 ? argv[1] : "";
	file = argc > 2 ? argv[2] : "";
	if (!strcmp(act, "narrow")) { // FILE
		tell("before");
		say("opens", open(file, O_RDONLY));
		say("narrow", mkdir("/run/ptguard/scope/user", 0777));
		tell("after");
		say("opens", open(file, O_RDONLY));
		say("again", mkdir("/run/ptguard/scope/user", 0777));
		say("api", mkdir("/run/ptguard/scope/api", 0777));
		say("unknown", mkdir("/run/ptguard/scope/nothing", 0777));
		if (fork() == 0) {
			tell("child");
			say("child opens", open(file, O_RDONLY));
			_exit(0);
		}
		wait(0);
		char buf[2];
		printf("short %zd\n", readlink("/run/ptguard/scope", buf, 2));
	} else if (!strcmp(act, "thread")) { // FILE
		pthread_t t;
		pthread_create(&t, 0, narrowed, 0);
		pthread_join(t, 0);
		tell("main");
		say("main opens", open(file, O_RDONLY));
	} else if (!strcmp(act, "forks")) { // FILE: every child of a narrowed task is narrowed
		mkdir("/run/ptguard/scope/user", 0777);
		int wrong = 0;
		for (int i = 0; i < 300; i++) {
			int status;
			pid_t pid = fork();
			if (pid == 0)
				_exit(open(file, O_RDONLY) >= 0);
			waitpid(pid, &status, 0);
			wrong += status != 0;
		}
		printf("wrong %d\n", wrong);
	} else if (!strcmp(act, "reach")) { // PROGRAM ARGS…: into a process that it starts
		int in, out, status;
		char c, path[64];
		pid_t pid = start(argv + 2, &in, &out);
		if (read(out, &c, 1) != 1) // it runs
			return 5;
		say("kill", kill(pid, SIGWINCH));
		say("kill 0", kill(pid, 0));
		int pidfd = syscall(SYS_pidfd_open, pid, 0);
		say("pidfd_open", pidfd);
		if (pidfd < 0)
			errno = EPERM;
		say("pidfd_getfd", pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, 0, 0));
		char buf[8];
		struct iovec l = {buf, 8}, r = {(void *)argv[0], 8};
		long n = syscall(SYS_process_vm_readv, pid, &l, 1, &r, 1, 0);
		if (n < 0 && errno == EFAULT) // another layout: it was let in
			n = 0;
		say("process_vm_readv", n);
		const char *files[] = {"mem", "environ", "maps", "fd/0", "cwd/.", "stat"};
		for (int i = 0; i < 6; i++) {
			snprintf(path, sizeof path, "/proc/%d/%s", pid, files[i]);
			say(files[i], open(path, O_RDONLY));
		}
		struct rlimit rl = {100, 100};
		say("prlimit", prlimit(pid, RLIMIT_NOFILE, &rl, 0));
		signal(SIGUSR2, SIG_IGN);
		say("kill group", kill(0, SIGUSR2));
		close(in);
		waitpid(pid, &status, 0);
		printf("ended %s\n", WIFSIGNALED(status) ? "by a signal" : "by itself");
	} else if (!strcmp(act, "wait")) { // until the standard input ends
		char c;
		puts("running");
		fflush(stdout);
		while (read(0, &c, 1) > 0)
			;
	} else if (!strcmp(act, "parent")) { // a narrowed child reaches into its parent
		pid_t pid = fork();
		if (pid == 0) {
			char path[64];
			mkdir("/run/ptguard/scope/user", 0777);
			say("kill", kill(getppid(), 0));
			snprintf(path, sizeof path, "/proc/%d/mem", getppid());
			say("mem", open(path, O_RDWR));
			_exit(0);
		}
		waitpid(pid, 0, 0);
		say("parent kills", kill(getpid(), 0));
	} else if (!strcmp(act, "env")) {
		extern char **environ;
		for (char **e = environ; *e; e++)
			puts(*e);
		tell("scope");
	}
	return 0;
}
