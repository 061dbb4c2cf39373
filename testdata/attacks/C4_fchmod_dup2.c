// SPDX-License-Identifier: Apache-2.0
//
// C4, C25: fchmod of a descriptor that flips between a file of our own and one outside.
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
	struct stat st;
	must(ok = open("secreT", O_RDONLY), "open");
	must(bad = open(outside("file"), O_RDONLY), "open");
	dup2(ok, fd);
	start(duping, NULL);
	while (race_more()) {
		must(fstat(bad, &st), "fstat");
		mode_t now = st.st_mode & 07777, other = now == 0640 ? 0644 : 0640;
		fchmod(fd, other);
		must(fstat(bad, &st), "fstat");
		race_won((st.st_mode & 07777) == other);
	}
	race_end();
}
