// SPDX-License-Identifier: Apache-2.0
//
// throws N: a timer's handler throws out of open(2) and of a blocked open of a FIFO; the exception is
// caught N times by whoever made the call, with the objects in between destroyed. Two more threads open
// files and throw by themselves meanwhile.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t armed;
static int destroyed;
static volatile int over;

struct Tick {};

struct Guard {
	~Guard() { destroyed++; }
};

// In the C library, that is in open or behind its system call: elsewhere an exception may find no
// entry for where it is.
static void tick(int, siginfo_t *, void *context)
{
	ucontext_t *c = static_cast<ucontext_t *>(context);
	Dl_info info;
#if defined __x86_64__
	void *at = reinterpret_cast<void *>(c->uc_mcontext.gregs[REG_RIP]);
#else
	void *at = reinterpret_cast<void *>(c->uc_mcontext.pc);
#endif
	if (armed && dladdr(at, &info) && info.dli_fname && strstr(info.dli_fname, "libc.so")) {
		armed = 0;
		throw Tick();
	}
}

static int opened(const char *name, int flags)
{
	Guard g;
	armed = 1;
	int fd = open(name, flags, 0600);
	armed = 0;
	return fd;
}

static void *thrower(void *)
{
	static char ok;
	for (int i = 0; !over; i++)
		try {
			int fd = open("file", O_RDWR);
			if (fd < 0)
				return nullptr;
			close(fd);
			throw i;
		} catch (int got) {
			if (got != i)
				return nullptr;
		}
	return &ok;
}

int main(int argc, char **argv)
{
	int want = argc > 1 ? atoi(argv[1]) : 100, caught = 0, whole = 0;
	pthread_t threads[2];
	void *fine;
	sigset_t alarms;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	struct sigaction sa = {};
	sa.sa_sigaction = tick;
	sa.sa_flags = SA_RESTART | SA_SIGINFO;
	sigaction(SIGALRM, &sa, nullptr);
	close(open("file", O_CREAT | O_WRONLY, 0600));
	mkfifo("fifo", 0600);
	sigprocmask(SIG_BLOCK, &alarms, nullptr); // in those threads
	for (auto &t : threads)
		pthread_create(&t, nullptr, thrower, nullptr);
	sigprocmask(SIG_UNBLOCK, &alarms, nullptr);
	struct itimerval every = {{0, 400}, {0, 400}};
	setitimer(ITIMER_REAL, &every, nullptr);
	while (caught < want)
		try {
			int fd = opened("file", O_RDWR);
			if (fd < 0) {
				perror("open");
				return 1;
			}
			close(fd);
			whole++;
		} catch (Tick &) {
			caught++;
			sigprocmask(SIG_UNBLOCK, &alarms, nullptr); // the handler has not returned
			// What was opened in a call that was left is lost.
			for (int fd = 3; fd < 8; fd++)
				if (fcntl(fd, F_GETFD) >= 0 && caught % 64 == 0)
					close(fd);
		}
	bool all = destroyed == caught + whole;
	try {
		opened("fifo", O_WRONLY);
	} catch (Tick &) {
		puts("thrown out of a blocked open");
	}
	every = {};
	setitimer(ITIMER_REAL, &every, nullptr);
	over = 1;
	for (auto &t : threads)
		if (pthread_join(t, &fine) || !fine)
			return 1;
	printf("%d caught, some opened: %s, all destroyed: %s\n", caught, whole > 0 ? "yes" : "no", all ? "yes" : "no");
}
