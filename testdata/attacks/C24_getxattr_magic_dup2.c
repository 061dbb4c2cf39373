// SPDX-License-Identifier: Apache-2.0
//
// C24, C4: getxattr of /proc/self/fd/N while N flips between a deleted file of our own, which has the
// attribute, and an O_PATH descriptor of the secret, which has not.
#include "cfgh.h"

static int ok, bad, fd = 100;

static void *duping(void *arg)
{
	for (;;) {
		dup2(ok, fd);
		dup2(bad, fd);
	}
	return arg;
}

int main(void)
{
	char v[64];
	must(ok = open("deleted", O_CREAT | O_RDWR, 0600), "open");
	must(fsetxattr(ok, "user.t", "1", 1, 0), "fsetxattr");
	must(unlink("deleted"), "unlink");
	must(bad = open("secret", O_PATH), "open O_PATH");
	start(duping, NULL);
	while (race_more()) {
		ssize_t n = getxattr("/proc/self/fd/100", "user.t", v, sizeof v);
		race_won(n < 0 && errno == ENODATA);
	}
	race_end();
}
