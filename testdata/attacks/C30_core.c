// SPDX-License-Identifier: Apache-2.0
//
// C30: a core dump is a file that the kernel writes for us into the current directory.
#include "cfgh.h"

int main(void)
{
	char v[64] = "", n[64];
	struct rlimit rl = {RLIM_INFINITY, RLIM_INFINITY};
	struct stat st;
	int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY), status;
	(void)!read(fd, v, sizeof v - 1);
	if (strncmp(v, "core", 4))
		finish("SETUP", "core_pattern is %s", v);
	pid_t pid = fork();
	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &rl);
		if (chdir(outside("")))
			_exit(1);
		abort();
	}
	must(waitpid(pid, &status, 0), "waitpid");
	snprintf(n, sizeof n, "core.%d", pid);
	if (!lstat(outside("core"), &st) || !lstat(outside(n), &st))
		succeeded();
	errno = EPERM;
	refused();
}
