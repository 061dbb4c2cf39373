// SPDX-License-Identifier: Apache-2.0
//
// C9: fsopen.
#include "cfgh.h"
#include <sys/mount.h>

int main(void)
{
	if (!tracer()) { // in a mount namespace of our own; under ptguard there is none
		must(unshare(CLONE_NEWNS), "unshare");
		must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
	}
	verdict(fsopen("tmpfs", 0));
}
