// SPDX-License-Identifier: Apache-2.0
// A task in a Landlock domain of its own, its name flipped by a thread.
#include "mutate.h"
#include <sys/prctl.h>

// fence puts the task into a Landlock domain of its own that forbids nothing it does here.
static void fence(void)
{
	struct { uint64_t fs; } a = {1ULL << 6}; // LANDLOCK_ACCESS_FS_MAKE_CHAR
	int r = (int)syscall(SYS_landlock_create_ruleset, &a, sizeof a, 0);
	must(r, "landlock");
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	must(syscall(SYS_landlock_restrict_self, r, 0), "landlock");
	close(r);
}

static void act(const char *name) { mkdir(name, 0755); }
static void again(const char *allowed) { rmdir(allowed); }

int main(void)
{
	fence();
	mutate("n", act, again, there);
}
