// SPDX-License-Identifier: Apache-2.0
//
// C9: umount shows what lies beneath.
#include "cfgh.h"
#include <sys/mount.h>

int main(void)
{
	must(mkdir("m", 0755), "mkdir");
	if (!tracer()) { // a mount of our own in a namespace of our own; under ptguard there is none
		must(unshare(CLONE_NEWNS), "unshare");
		must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
		must(mount("none", "m", "tmpfs", 0, NULL), "tmpfs");
	}
	verdict(umount2("m", MNT_DETACH));
}
