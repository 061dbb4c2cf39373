// SPDX-License-Identifier: Apache-2.0
// Prints what a handler learns of signals: from a child by sigqueue, kill and exit, from
// itself by tgkill and raise, of a timer, of a fault, of int3.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t got;
static siginfo_t last;
static char *page;

static void on(int sig, siginfo_t *si, void *uc)
{
	last = *si;
	got = sig;
	if (sig == SIGSEGV)
		mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void await(int sig)
{
	sigset_t others; // let in this signal only, or a second one would overwrite it
	sigfillset(&others);
	sigdelset(&others, sig);
	while (got != sig)
		sigsuspend(&others);
	got = 0;
}

int main(void)
{
	sigset_t all;
	struct sigaction sa = {.sa_sigaction = on, .sa_flags = SA_SIGINFO};
	int sigs[] = {SIGUSR1, SIGUSR2, SIGCHLD, SIGALRM, SIGSEGV, SIGTRAP, SIGRTMIN + 3, SIGTERM, SIGINT};
	setvbuf(stdout, 0, _IOLBF, 0);
	for (unsigned i = 0; i < sizeof sigs / sizeof *sigs; i++)
		sigaction(sigs[i], &sa, 0);
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGTRAP);
	sigprocmask(SIG_BLOCK, &all, 0);

	int p = fork();
	if (p == 0) {
		union sigval v = {.sival_int = 4711};
		sigqueue(getppid(), SIGRTMIN + 3, v);
		_exit(0);
	}
	await(SIGRTMIN + 3);
	printf("sigqueue code %d value %d pid %d uid %d\n", last.si_code, last.si_value.sival_int, last.si_pid == p, last.si_uid == getuid());
	await(SIGCHLD);
	printf("exit code %d status %d pid %d\n", last.si_code, last.si_status, last.si_pid == p);
	waitpid(p, 0, 0);

	p = fork();
	if (p == 0) {
		kill(getppid(), SIGUSR1);
		raise(SIGKILL);
	}
	await(SIGUSR1);
	printf("kill code %d pid %d\n", last.si_code, last.si_pid == p);
	await(SIGCHLD);
	printf("killed code %d status %d\n", last.si_code, last.si_status);
	waitpid(p, 0, 0);

	p = fork();
	if (p == 0) {
		sigset_t usr2;
		int sig;
		sigemptyset(&usr2);
		sigaddset(&usr2, SIGUSR2);
		raise(SIGSTOP);
		sigwait(&usr2, &sig); // or the SIGCHLD of its end would merge with that of SIGCONT
		_exit(3);
	}
	await(SIGCHLD);
	printf("stopped code %d status %d\n", last.si_code, last.si_status == SIGSTOP);
	kill(p, SIGCONT);
	await(SIGCHLD);
	printf("continued code %d\n", last.si_code);
	kill(p, SIGUSR2);
	await(SIGCHLD);
	printf("exit code %d status %d\n", last.si_code, last.si_status);
	waitpid(p, 0, 0);

	syscall(SYS_tgkill, getpid(), gettid(), SIGUSR2);
	await(SIGUSR2);
	printf("tgkill code %d pid %d\n", last.si_code, last.si_pid == getpid());

	struct itimerval it = {.it_value.tv_usec = 1000};
	setitimer(ITIMER_REAL, &it, 0);
	await(SIGALRM);
	printf("timer code %d\n", last.si_code);

	page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*(volatile char *)page = 1;
	printf("fault %d code %d addr %d\n", got == SIGSEGV, last.si_code, last.si_addr == page);
	got = 0;
#if defined(__x86_64__)
	__asm__ volatile("int3");
	printf("trap %d code %d\n", got == SIGTRAP, last.si_code);
	got = 0;
#endif
	sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = 12});
	printf("queued trap %d code %d value %d\n", got == SIGTRAP, last.si_code, last.si_value.sival_int);
	raise(SIGTRAP);
	printf("raised trap code %d\n", last.si_code);
	return 0;
}
