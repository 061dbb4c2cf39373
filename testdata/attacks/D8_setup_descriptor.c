// SPDX-License-Identifier: Apache-2.0
// The descriptor that brings the window in exists for an instant. Threads try to catch it in each of
// many fresh images, to have the window's memory writable or at another place.
// cc: -static
#include "attack.h"

// write_again opens the object anew for writing.
static int write_again(const char *path)
{
	int fd = open(path, O_RDWR);
	int won = fd >= 0 && (pwrite(fd, "x", 1, 0) == 1 || mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED);
	close(fd);
	return won;
}

static void *catcher(void *arg)
{
	for (;;)
		for (int fd = 3; fd < 8; fd++) {
			int own = dup(fd);
			if (own < 0)
				continue;
			char path[64], target[128] = "";
			snprintf(path, sizeof path, "/proc/self/fd/%d", own);
			(void)!readlink(path, target, sizeof target - 1);
			if (strstr(target, "memfd:ptguard")) {
				if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0) != MAP_FAILED || pwrite(own, "x", 1, 0) == 1 || !ftruncate(own, 0) ||
					!fallocate(own, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) || write_again(path))
					_exit(42);
			}
			close(own);
		}
	return arg;
}

int main(int argc, char **argv)
{
	if (argc == 1 && getppid() == number("ATTACK_RUNNER", 0)) { // bare: an unsealed one of our own
		int fd = memfd_create("ptguard", 0);
		must(fd, "memfd_create");
		verdict(pwrite(fd, "x", 1, 0));
	}
	if (argc > 1) {
		for (int i = 0; i < 3; i++)
			start(catcher, NULL);
		for (int i = 0; i < 20; i++)
			open("secreT", O_RDONLY | O_CLOEXEC);
		_exit(0);
	}
	for (int i = 0; i < 40; i++) {
		pid_t pid = fork();
		if (!pid) {
			execl("/proc/self/exe", argv[0], "again", NULL);
			_exit(1);
		}
		int st;
		waitpid(pid, &st, 0);
		if (WIFEXITED(st) && WEXITSTATUS(st) == 42)
			succeeded();
	}
	finish("REFUSED", "never had it writable");
}
