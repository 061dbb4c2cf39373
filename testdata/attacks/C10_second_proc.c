// SPDX-License-Identifier: Apache-2.0
//
// C10: a second procfs.
#include "cfgh.h"
#include <sys/mount.h>

int main(void)
{
	if (!tracer()) { // in a mount namespace of our own; under ptguard there is none
		must(unshare(CLONE_NEWNS), "unshare");
		must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
	}
	verdict(mount("proc", "denieD", "proc", 0, NULL));
}
