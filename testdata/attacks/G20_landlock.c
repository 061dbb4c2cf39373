// SPDX-License-Identifier: Apache-2.0
//
// G20: a program that fences itself in is still refused what the policy refuses.
#include "cfgh.h"

int main(void)
{
	struct { uint64_t fs, net, scoped; } a = {.fs = 1ull << 12 /* make_sym */};
	int r = (int)syscall(444, &a, 8, 0);
	if (r < 0)
		setup("landlock_create_ruleset");
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	must(syscall(446, r, 0), "landlock_restrict_self");
	must(chmod("secreT", 0600), "chmod");
	verdict(chmod(outside("file"), 0600));
}
