// SPDX-License-Identifier: Apache-2.0
//
// D8, A16: a signal waits, blocked, when a fresh address space makes its first judged call.
// Its handler must not run between the calls by which ptguard brings its window in, or what
// it does is taken for one of them.
// cc: -static
#include "attack.h"

static void handler(int sig)
{
	(void)sig;
	syscall(SYS_unlink, "denied/file");
}

int main(void)
{
	static const int signals[] = {SIGSEGV, SIGTRAP, SIGUSR1, SIGSYS, SIGBUS, SIGILL, SIGFPE, 64};
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) {
		pid_t pid = fork(); // of a parent that has no window
		if (!pid) {
			sigset_t set;
			signal(signals[i], handler);
			sigemptyset(&set);
			sigaddset(&set, signals[i]);
			sigprocmask(SIG_BLOCK, &set, NULL);
			raise(signals[i]);
			close(open("secreT", O_RDONLY));
			sigprocmask(SIG_UNBLOCK, &set, NULL);
			_exit(7);
		}
		must(pid, "fork");
		waitpid(pid, NULL, 0);
	}
	if (access("denied/file", F_OK) < 0 && errno == ENOENT)
		succeeded();
	finish("REFUSED", "the file is there");
}
