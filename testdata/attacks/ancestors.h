// SPDX-License-Identifier: Apache-2.0
//
// No links at all: folders far above the one that `..` starts from are exchanged by renames
// that the policy permits, so that it lies two levels deeper, and shallower again. From `in`,
// ../../.. is the work folder, or the folder far/off in it, which has names like those of the
// work folder, all allowed.
#ifndef ANCESTORS_H
#define ANCESTORS_H
#include "cfgh.h"

static int in = -1, work_fd = -1;

MAYBE void *exchanging(void *arg)
{
	for (;;)
		syscall(SYS_renameat2, work_fd, "top", work_fd, "far/off/top", RENAME_EXCHANGE);
	return arg;
}

MAYBE void ancestors(void)
{
	must(mkdir("top", 0755), "mkdir");
	must(mkdir("top/mid", 0755), "mkdir");
	must(mkdir("top/mid/in", 0755), "mkdir");
	must(mkdir("far", 0755), "mkdir");
	must(mkdir("far/off", 0755), "mkdir");
	must(mkdir("far/off/top", 0755), "mkdir");
	must(mkdir("far/off/denied", 0755), "mkdir");
	must(mkdir("far/outside", 0755), "mkdir"); // ../../../../outside, from deep
	put("far/off/secret", "ALLOWED", 0644);
	must(work_fd = open(".", O_PATH | O_DIRECTORY), "open .");
	must(in = open("top/mid/in", O_PATH | O_DIRECTORY), "open in");
	start(exchanging, NULL);
}

#endif
