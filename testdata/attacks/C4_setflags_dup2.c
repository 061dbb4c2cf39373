// SPDX-License-Identifier: Apache-2.0
//
// C4, C25: FS_IOC_SETFLAGS through a descriptor that flips between a file of our own and
// one outside, opened for reading.
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
	int first, was, now;
	must(ok = open("secreT", O_RDONLY), "open");
	must(bad = open(outside("file"), O_RDONLY), "open");
	must(ioctl(bad, FS_IOC_GETFLAGS, &first), "FS_IOC_GETFLAGS");
	must(ioctl(ok, FS_IOC_SETFLAGS, &first), "FS_IOC_SETFLAGS of our own");
	dup2(ok, fd);
	start(duping, NULL);
	while (race_more()) {
		ioctl(bad, FS_IOC_GETFLAGS, &was);
		int want = was ^ FS_NODUMP_FL;
		ioctl(fd, FS_IOC_SETFLAGS, &want);
		ioctl(bad, FS_IOC_GETFLAGS, &now);
		race_won(now == want);
	}
	ioctl(bad, FS_IOC_SETFLAGS, &first);
	race_end();
}
