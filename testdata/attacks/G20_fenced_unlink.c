// SPDX-License-Identifier: Apache-2.0
// A task in a Landlock domain of its own unlinks below a folder that is swapped for a link. Its
// calls are not performed by ptguard, for the domain must keep its force.
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

static void *swapper(void *arg)
{
	for (;;) {
		renameat2(AT_FDCWD, "at", AT_FDCWD, "lnk", RENAME_EXCHANGE);
	}
	return arg;
}

static char name[32];
static void act(const char *leaf)
{
	snprintf(name, sizeof name, "at/%s", leaf + 7);
	unlink(name);
}
static void again(const char *allowed)
{
	(void)allowed;
	close(open(name, O_WRONLY | O_CREAT | O_NOFOLLOW, 0600));
}

int main(void)
{
	must(mkdir("at", 0755), "mkdir");
	must(symlink("denied", "lnk"), "symlink");
	fence();
	start(swapper, NULL);
	mutate("v", act, again, gone);
}
