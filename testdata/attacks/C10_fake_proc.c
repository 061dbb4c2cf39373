// SPDX-License-Identifier: Apache-2.0
//
// C10: a folder bound over /proc, so that /proc/self means what we like.
#include "cfgh.h"
#include <sys/mount.h>

int main(void)
{
	if (!tracer()) { // in a mount namespace of our own; under ptguard there is none
		must(unshare(CLONE_NEWNS), "unshare");
		must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
	}
	verdict(mount("denieD", "/proc", NULL, MS_BIND, NULL));
}
