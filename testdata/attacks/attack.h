// SPDX-License-Identifier: Apache-2.0
//
// What every attack program shares. A program does one act that the policy refuses and
// prints SUCCEEDED if it took effect, REFUSED (and the errno) if not, SETUP and a reason if
// it cannot be tried here. The current directory is the work folder of the runner:
//
//	secret        a file with the text SECRET that the policy denies
//	secreT        its twin with the text ALLOWED, allowed; one byte of the name differs
//	denied/       a folder that the policy denies: denied/file (SECRET), denied/sub/, denied/sock
//	denieD/       its allowed twin: file (ALLOWED), sub/, sock; both sock are listened on, and
//	              both have v0 to v19, for racers that can win only once on each
//	victim        a copy of the program itself, denied to exec; victiM the allowed twin
//	../outside/   writable by the user, not by the policy: file, p0, p1, … (OUTSIDE), and the
//	              folders d0, d1, …
//
// Descriptors 7 and 8 are left open by a careless parent: denied/file, and denied itself.
// denied/sock hands out a descriptor of denied/file.
//
// Environment: ATTACK_OK and ATTACK_BAD are ports on 127.0.0.1 with a TCP listener and a UDP
// echo each, of which only the first is allowed. ATTACK_SECONDS, ATTACK_WINS and ATTACK_TRIES
// end a race, whichever comes first. ATTACK_WORK and ATTACK_OUTSIDE are absolute names,
// ATTACK_RUNNER is a process outside the tree (same user).
#ifndef ATTACK_H
#define ATTACK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAYBE __attribute__((unused)) static

// finish ends the whole process with its one word; leftover threads end with it.
MAYBE _Noreturn void finish(const char *word, const char *format, ...)
{
	char line[512];
	va_list ap;
	va_start(ap, format);
	vsnprintf(line, sizeof line, format, ap);
	va_end(ap);
	printf("%s%s%s\n", word, *line ? (strcmp(word, "SETUP") ? "\n" : " ") : "", line);
	fflush(stdout);
	_exit(0);
}

MAYBE _Noreturn void succeeded(void) { finish("SUCCEEDED", "%s", ""); }
MAYBE _Noreturn void refused(void) { finish("REFUSED", "%s", strerrorname_np(errno) ? strerrorname_np(errno) : "no errno"); }

// setup ends a program that cannot be tried: what it needs before its act does not work.
MAYBE _Noreturn void setup(const char *what) { finish("SETUP", "%s: %s", what, strerror(errno)); }

// verdict of a call that takes effect when it gives no error.
MAYBE _Noreturn void verdict(long r)
{
	if (r < 0)
		refused();
	succeeded();
}

// is_secret tells whether a descriptor gives what must not be read. It closes it.
MAYBE int is_secret(int fd)
{
	char text[6] = "";
	if (fd < 0)
		return 0;
	ssize_t n = pread(fd, text, sizeof text, 0);
	close(fd);
	return n == 6 && !memcmp(text, "SECRET", 6);
}

// verdict_secret of a descriptor that should give the secret.
MAYBE _Noreturn void verdict_secret(int fd)
{
	if (fd < 0)
		refused();
	if (is_secret(fd))
		succeeded();
	finish("REFUSED", "something else was opened");
}

// verdict_child of a child that ends with status 42 if its act took effect.
MAYBE _Noreturn void verdict_child(pid_t pid)
{
	int st;
	if (pid < 0)
		refused();
	while (waitpid(pid, &st, __WALL) < 0)
		if (errno != EINTR)
			setup("waitpid");
	if (WIFEXITED(st) && WEXITSTATUS(st) == 42)
		succeeded();
	finish("REFUSED", "child status %#x", st);
}

MAYBE int number(const char *name, int otherwise)
{
	const char *v = getenv(name);
	return v ? atoi(v) : otherwise;
}

MAYBE void must(long r, const char *what)
{
	if (r < 0)
		setup(what);
}

MAYBE struct sockaddr_in loopback(const char *port_variable)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number(port_variable, 0))};
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

// Races. race_more() is true until the time is up or enough was won; race_won() counts;
// race_end() prints "WINS n TRIES m" as its detail.
static long race_wins __attribute__((unused)), race_tries __attribute__((unused));

MAYBE double seconds(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

MAYBE int race_more(void)
{
	static double end;
	static long enough, most;
	if (end == 0) {
		end = seconds() + number("ATTACK_SECONDS", 1);
		enough = number("ATTACK_WINS", 1 << 30);
		most = number("ATTACK_TRIES", 1 << 30);
	}
	if (race_tries >= most || seconds() >= end || __atomic_load_n(&race_wins, __ATOMIC_RELAXED) >= enough)
		return 0;
	race_tries++;
	return 1;
}

MAYBE void race_won(int won)
{
	if (won)
		__atomic_add_fetch(&race_wins, 1, __ATOMIC_RELAXED);
}

MAYBE _Noreturn void race_end(void)
{
	finish(race_wins > 0 ? "SUCCEEDED" : "REFUSED", "WINS %ld TRIES %ld", race_wins, race_tries);
}

// start runs f(arg) in a thread for good.
MAYBE pthread_t start(void *(*f)(void *), void *arg)
{
	pthread_t t;
	if ((errno = pthread_create(&t, NULL, f, arg)))
		setup("pthread_create");
	return t;
}

// A flipper writes one of two bytes in turn, for good. The pause varies, as no one period
// fits the time between check and use.
struct flip {
	volatile char *at;
	char a, b;
};

MAYBE void *flipper(void *arg)
{
	struct flip *f = arg;
	unsigned seed = 1;
	for (;;) {
		*f->at = f->a;
		seed = seed * 1103515245 + 12345;
		for (volatile unsigned i = (seed >> 16) & 0x3ff; i; i--)
			;
		*f->at = f->b;
		seed = seed * 1103515245 + 12345;
		for (volatile unsigned i = (seed >> 16) & 0x3ff; i; i--)
			;
	}
	return NULL;
}

// flip starts a flipper on a byte.
MAYBE void flip(volatile char *at, char a, char b)
{
	static struct flip all[8];
	static int n;
	all[n] = (struct flip){at, a, b};
	start(flipper, &all[n++]);
}

// window finds ptguard's argument window in our memory; a bare process has none. It makes a
// call first that brings the window in.
MAYBE int window(uintptr_t *from, uintptr_t *to)
{
	char line[512];
	int found = 0, fd = open("secreT", O_RDONLY);
	close(fd);
	FILE *f = fopen("/proc/self/maps", "r");
	if (!f)
		return 0;
	while (fgets(line, sizeof line, f)) {
		unsigned long a, b;
		if (strstr(line, "/memfd:ptguard") && sscanf(line, "%lx-%lx", &a, &b) == 2) {
			if (!found++)
				*from = a;
			*to = b;
		}
	}
	fclose(f);
	return found;
}

// window_or_own is the window or, where there is none, a mapping of the same kind that the
// program makes itself: so that the attack can be seen to work on it.
MAYBE void window_or_own(uintptr_t *from, uintptr_t *to)
{
	if (window(from, to))
		return;
	int fd = memfd_create("ptguard", 0);
	must(fd, "memfd_create");
	must(ftruncate(fd, 1 << 19), "ftruncate");
	void *p = mmap(NULL, 1 << 19, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		setup("mmap");
	*from = (uintptr_t)p;
	*to = *from + (1 << 19);
	close(fd);
}

#endif
