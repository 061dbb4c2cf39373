// SPDX-License-Identifier: Apache-2.0
//
// C1, C2: x is a folder of our own that another thread exchanges for a link to ../outside,
// while a call that changes names, content or metadata works through it. ACT is the call,
// WAY how it is exchanged.
#include "cfgh.h"

#ifndef WAY
#define WAY "exchange"
#endif

static char name[64], there[4200];
static int serial;

// fresh gives a name below x that exists nowhere, and what it is outside.
static const char *fresh(void)
{
	snprintf(name, sizeof name, "x/n%d", serial);
	snprintf(there, sizeof there, "%s", outside(name + 2));
	serial++;
	return name;
}

static int exists(const char *p)
{
	struct stat st;
	return !lstat(p, &st);
}

static int gone(const char *p) { return !exists(p); }

static struct stat seen(const char *p)
{
	struct stat st = {0};
	stat(p, &st);
	return st;
}

// prey names what can be taken away outside, below x: p0, p1, … are files there, d0, d1, …
// folders (the runner puts PREY of each), so that each try makes the call itself. None: all
// are taken.
#define PREY 20
static const char *prey(int dir)
{
	static int at;
	for (; at < PREY; at++) {
		snprintf(name, sizeof name, "x/%c%d", dir ? 'd' : 'p', at);
		snprintf(there, sizeof there, "%s", outside(name + 2));
		if (exists(there))
			return name;
	}
	return NULL;
}

static int attempt(const char *act)
{
	struct stat a, b;
	const char *file = outside("file"), *p;
	static unsigned n;
	n++;
#define IS(s) (!strcmp(act, s))
	if (IS("mkdir"))
		return !mkdir(fresh(), 0755) && exists(there);
	if (IS("mknod"))
		return !mknod(fresh(), S_IFIFO | 0644, 0) && exists(there);
	if (IS("symlink"))
		return !symlink("t", fresh()) && exists(there);
	if (IS("create")) {
		close(open(fresh(), O_CREAT | O_WRONLY | O_EXCL, 0644));
		return exists(there);
	}
	if (IS("tmpfile")) {
		char link[4200] = "";
		int fd = open("x", O_TMPFILE | O_RDWR, 0600);
		if (fd < 0)
			return 0;
		snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
		(void)!readlink(name, link, sizeof link - 1);
		close(fd);
		return !strncmp(link, outside(""), strlen(outside("")));
	}
	if (IS("link-to"))
		return !link("secreT", fresh()) && exists(there);
	if (IS("rename-to")) {
		close(open("moved", O_CREAT | O_WRONLY, 0644));
		return !rename("moved", fresh()) && exists(there);
	}
	if (IS("bind")) {
		struct sockaddr_un u = unix_name(fresh());
		int s = socket(AF_UNIX, SOCK_STREAM, 0);
		bind(s, (struct sockaddr *)&u, sizeof u);
		close(s);
		return exists(there);
	}
	if (IS("unlink"))
		return (p = prey(0)) && !unlink(p) && gone(there);
	if (IS("rmdir"))
		return (p = prey(1)) && !rmdir(p) && gone(there);
	if (IS("rename-from")) {
		if (!(p = prey(0)))
			return 0;
		return !rename(p, "taken") && gone(there);
	}
	if (IS("link-from")) {
		unlink("l");
		return !link("x/file", "l") && seen("l").st_ino == seen(file).st_ino;
	}
	a = seen(file);
	if (IS("write")) {
		int fd = open("x/file", O_WRONLY | (n & 1 ? O_APPEND : 0)), won = 0;
		if (fd >= 0)
			won = !fstat(fd, &b) && b.st_ino == a.st_ino && b.st_dev == a.st_dev;
		close(fd);
		return won;
	}
	if (IS("chmod")) {
		chmod("x/file", a.st_mode & 0100 ? 0644 : 0755);
		return seen(file).st_mode != a.st_mode;
	}
	if (IS("chown")) { // the ctime shows it for those who may not give files away
		chown("x/file", (uid_t)-1, getgid());
		b = seen(file);
		return b.st_ctim.tv_nsec != a.st_ctim.tv_nsec || b.st_ctim.tv_sec != a.st_ctim.tv_sec;
	}
	if (IS("utime")) {
		struct timespec ts[2] = {{.tv_sec = n}, {.tv_sec = n}};
		utimensat(AT_FDCWD, "x/file", ts, 0);
		return seen(file).st_mtim.tv_sec == n;
	}
	if (IS("truncate")) {
		(void)!truncate("x/file", n + 100);
		return seen(file).st_size == n + 100;
	}
	if (IS("setxattr")) {
		char v[16] = "", w[16];
		snprintf(w, sizeof w, "%u", n);
		setxattr("x/file", "user.t", w, strlen(w), 0);
		getxattr(file, "user.t", v, sizeof v - 1);
		return !strcmp(v, w);
	}
	finish("SETUP", "no act %s", act);
}

// The ways: an exchange, or the three steps that programs without it take.
static void *steps(void *arg)
{
	for (;;) {
		if (rename("x", "away") || symlink(arg, "x"))
			continue;
		unlink("x");
		rename("away", "x");
	}
	return NULL;
}

// parents moves the folder above x, so that x is looked up below another one.
static void *parents(void *arg)
{
	for (;;)
		exchange("up/a", "up/b");
	return arg;
}

int main(void)
{
	const char *act = ACT, *way = WAY;
	must(mkdir("up", 0755), "mkdir");
	must(mkdir("up/a", 0755), "mkdir");
	must(mkdir("up/b", 0755), "mkdir");
	if (!strcmp(way, "parents")) {
		must(mkdir("up/a/x", 0755), "mkdir");
		put("up/a/x/file", "mine", 0644);
		must(symlink(outside(""), "up/b/x"), "symlink");
		must(symlink("up/a/x", "x"), "symlink");
		start(parents, NULL);
	} else {
		must(mkdir("x", 0755), "mkdir");
		put("x/file", "mine", 0644);
		if (!strcmp(way, "steps")) {
			start(steps, strdup(outside("")));
		} else {
			must(symlink(outside(""), "y"), "symlink");
			start_swap("x", "y");
		}
	}
	while (race_more())
		race_won(attempt(act));
	race_end();
}
