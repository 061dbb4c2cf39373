// SPDX-License-Identifier: Apache-2.0

// backstop_race BASE N: in BASE it acts on names in w0, whose paths a thread turns into w1 and
// back meanwhile. For each act a line: "ACT wins N stopped N tries N", where a win is an
// act that happened in w1, and stopped counts EACCES. An act ends at 10 of either.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char name[100];           // the racing path
static volatile char *side;      // its '0' or '1'
static char here[100], there[100]; // the same name in w0, in w1
static struct sockaddr_un addr = {.sun_family = AF_UNIX};
static volatile char *sockside;
static volatile unsigned long flips;

static void *flip(void *arg)
{
	for (;;) {
		*side = *sockside = '1';
		flips++;
		for (volatile int i = 0; i < 50; i++)
			;
		*side = *sockside = '0';
		for (volatile int i = 0; i < 50; i++)
			;
	}
	return arg;
}

static int there_now(void)
{
	struct stat st;
	return lstat(there, &st) == 0;
}

// Each act gives 0 or an errno, and whether it happened in w1.

static int do_write(int *won)
{
	struct stat a, b;
	int fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	*won = fstat(fd, &a) == 0 && stat(there, &b) == 0 && a.st_ino == b.st_ino;
	close(fd);
	return 0;
}
static int do_create(int *won)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int e = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	*won = there_now();
	return e;
}
#define MAKES(act, call)                       \
	static int do_##act(int *won)              \
	{                                          \
		int e = (call) < 0 ? errno : 0;        \
		*won = there_now();                    \
		return e;                              \
	}
#define TAKES(act, call)                       \
	static int do_##act(int *won)              \
	{                                          \
		int e = (call) < 0 ? errno : 0;        \
		*won = !there_now();                   \
		return e;                              \
	}
MAKES(mkdir, mkdir(name, 0700))
MAKES(mkfifo, mknod(name, S_IFIFO | 0600, 0))
MAKES(symlink, symlink("x", name))
MAKES(link, link(here, name))
MAKES(rename, rename(here, name))
TAKES(unlink, unlink(name))
TAKES(rmdir, rmdir(name))
static int do_truncate(int *won)
{
	struct stat st;
	int e = truncate(name, 0) < 0 ? errno : 0;
	*won = stat(there, &st) == 0 && st.st_size == 0;
	return e;
}
static int do_bind(int *won)
{
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int e = bind(s, (struct sockaddr *)&addr, sizeof addr) < 0 ? errno : 0;
	close(s);
	*won = there_now();
	return e;
}

static const struct {
	const char *word;
	int (*act)(int *);
	int taken;  // what is there can be taken once only
	int source; // needs a file in w0 of the same name with an s
} acts[] = {
	{"truncate", do_truncate, 1}, {"unlink", do_unlink, 1}, {"rmdir", do_rmdir, 1},
	{"create", do_create}, {"mkdir", do_mkdir}, {"mkfifo", do_mkfifo}, {"symlink", do_symlink}, {"bind", do_bind},
	{"link", do_link, 0, 1}, {"rename", do_rename, 0, 1}, {"write", do_write},
};

int main(int argc, char **argv)
{
	pthread_t t;
	int at, n = argc > 2 ? atoi(argv[2]) : 4000, bad = 0;
	if (argc < 2 || chdir(argv[1])) // a socket's path must be short
		return 2;
	at = sprintf(name, "./w");
	side = name + at;
	strcpy(addr.sun_path, name);
	sockside = addr.sun_path + at;
	*side = *sockside = '0';
	if (pthread_create(&t, NULL, flip, NULL))
		return 2;
	for (unsigned a = 0; a < sizeof acts / sizeof *acts; a++) {
		int wins = 0, stopped = 0, tries = 0, at_victim = 0;
		for (int i = 0; i < 20 * n && at_victim < n && wins < 10 && stopped < 10; i++, tries++) {
			int won = 0, e;
			for (unsigned long seen = flips; flips == seen; sched_yield())
				; // the thread has run
			char rest[30];
			sprintf(rest, "/%s/v%d", acts[a].word, acts[a].taken ? at_victim : acts[a].act == do_write ? 0 : i);
			strcpy(name + at + 1, rest);
			strcpy(addr.sun_path + at + 1, rest);
			sprintf(here, "./w0%s%s", rest, acts[a].source ? "s" : "");
			sprintf(there, "./w1%s", rest);
			if (acts[a].source)
				close(open(here, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
			e = acts[a].act(&won);
			wins += won;
			stopped += e == EACCES;
			at_victim += acts[a].taken && !e;
			bad += e && e != EACCES && e != EPERM && e != EXDEV;
		}
		printf("%s wins %d stopped %d tries %d\n", acts[a].word, wins, stopped, tries);
	}
	printf("other errors %d\n", bad);
	return 0;
}
