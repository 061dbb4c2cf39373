// SPDX-License-Identifier: Apache-2.0
//
// What the programs of sections C, F, G and H share beyond attack.h.
#ifndef CFGH_H
#define CFGH_H
#include "attack.h"
#include <dirent.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/xattr.h>

// swapping exchanges two names for good; both renames are ones that the policy permits.
struct swap {
	const char *a, *b;
};

MAYBE void exchange(const char *a, const char *b)
{
	syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
}

MAYBE void *swapping(void *arg)
{
	struct swap *s = arg;
	for (;;)
		exchange(s->a, s->b);
	return NULL;
}

MAYBE void start_swap(const char *a, const char *b)
{
	static struct swap all[4];
	static int n;
	all[n] = (struct swap){a, b};
	start(swapping, &all[n++]);
}

// put writes a file.
MAYBE void put(const char *name, const char *text, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, mode);
	must(fd, name);
	must(write(fd, text, strlen(text)), name);
	close(fd);
}

MAYBE const char *outside(const char *name)
{
	static char p[4][4096];
	static int n;
	char *out = p[n++ % 4];
	snprintf(out, 4096, "%s/%s", getenv("ATTACK_OUTSIDE") ? getenv("ATTACK_OUTSIDE") : "../outside", name);
	return out;
}

MAYBE const char *work(const char *name)
{
	static char p[4][4096];
	static int n;
	char *out = p[n++ % 4];
	snprintf(out, 4096, "%s/%s", getenv("ATTACK_WORK"), name);
	return out;
}

// tracer is who traces us; 0 without ptguard.
MAYBE pid_t tracer(void)
{
	char line[256];
	int pid = 0;
	FILE *f = fopen("/proc/self/status", "r");
	if (!f)
		setup("status");
	while (fgets(line, sizeof line, f))
		sscanf(line, "TracerPid: %d", &pid);
	fclose(f);
	if (pid == 0)
		return 0;
	snprintf(line, sizeof line, "/proc/%d/status", pid); // that was a thread of it
	if (!(f = fopen(line, "r")))
		setup("status of ptguard");
	while (fgets(line, sizeof line, f))
		sscanf(line, "Tgid: %d", &pid);
	fclose(f);
	return pid;
}

// target is ptguard or, without it, a child in a session of its own that stands for it.
MAYBE pid_t target(void)
{
	pid_t pid = tracer();
	if (pid)
		return pid;
	int ready[2];
	char c;
	must(pipe(ready), "pipe");
	if ((pid = fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setsid();
		(void)!write(ready[1], "", 1);
		for (int i = 0; i < 3; i++)
			close(i);
		for (;;)
			pause();
	}
	must(pid, "fork");
	(void)!read(ready[0], &c, 1);
	return pid;
}

// absent tells whether a call is not known to this kernel at all.
MAYBE void unless_absent(long r)
{
	if (r < 0 && errno == ENOSYS && !tracer())
		setup("this kernel lacks the call");
}

MAYBE struct sockaddr_un unix_name(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof a.sun_path)
		finish("SETUP", "socket path too long: %s", path);
	strcpy(a.sun_path, path);
	return a;
}

// listening makes a listener at a path relative to the current directory.
MAYBE int listening(const char *path)
{
	struct sockaddr_un a = unix_name(path);
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	must(bind(s, (struct sockaddr *)&a, sizeof a), path);
	must(listen(s, 128), "listen");
	return s;
}

#endif
