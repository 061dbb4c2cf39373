// SPDX-License-Identifier: Apache-2.0
//
// C12, C4: /proc/self/fd/N is opened for writing while N flips between a writable descriptor
// of an own file and one of a file outside that is open for reading or as O_PATH: what the one
// grants must not count for the other.
#include "cfgh.h"

static int own, other[2], fd = 100;

static void *duping(void *arg)
{
	for (unsigned i = 0;; i++) {
		dup2(own, fd);
		dup2(other[i % 2], fd);
	}
	return arg;
}

int main(void)
{
	struct stat a, b;
	put("mine", "mine", 0644);
	must(own = open("mine", O_RDWR), "open");
	must(other[0] = open(outside("file"), O_PATH), "open O_PATH");
	must(other[1] = open(outside("file"), O_RDONLY), "open O_RDONLY");
	must(stat(outside("file"), &a), "stat");
	start(duping, NULL);
	while (race_more()) {
		int f = open("/proc/self/fd/100", O_WRONLY);
		race_won(f >= 0 && !fstat(f, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev);
		close(f);
	}
	race_end();
}
