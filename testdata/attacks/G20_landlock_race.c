// SPDX-License-Identifier: Apache-2.0
//
// G20: of a program that fenced itself in, calls cannot be performed for it: chmod through a
// folder that is exchanged for a link outside.
#include "cfgh.h"

static void fence(void)
{
	uint64_t fs = 1ull << 11; // make_block
	int r = (int)syscall(444, &fs, 8, 0);
	must(r, "landlock_create_ruleset");
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	must(syscall(446, r, 0), "landlock_restrict_self");
}

// The process may be killed when it wins, but then it has won: so it is the file that tells.
int main(void)
{
	struct stat a, b;
	long *tries = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const char *file = outside("file");
	must(mkdir("x", 0755), "mkdir");
	put("x/file", "mine", 0644);
	must(symlink(outside(""), "y"), "symlink");
	start_swap("x", "y");
	while (race_more()) {
		must(stat(file, &a), "stat");
		pid_t pid = fork();
		must(pid, "fork");
		if (pid == 0) {
			fence();
			for (int i = 0; i < 100; i++) {
				tries[0]++;
				chmod("x/file", i & 1 ? 0640 : 0600);
			}
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		must(stat(file, &b), "stat");
		race_won(b.st_ctim.tv_sec != a.st_ctim.tv_sec || b.st_ctim.tv_nsec != a.st_ctim.tv_nsec);
	}
	race_tries = tries[0];
	race_end();
}
