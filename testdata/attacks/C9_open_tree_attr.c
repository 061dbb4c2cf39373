// SPDX-License-Identifier: Apache-2.0
//
// C9: open_tree_attr (Linux 6.15).
#include "cfgh.h"
#include <sys/mount.h>

int main(void)
{
	struct mount_attr a = {.attr_set = MOUNT_ATTR_NODEV};
	must(mkdir("m", 0755), "mkdir");
	if (!tracer()) { // a mount of our own in a namespace of our own; under ptguard there is none
		must(unshare(CLONE_NEWNS), "unshare");
		must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
		must(mount("none", "m", "tmpfs", 0, NULL), "tmpfs");
	}
	verdict(syscall(467, AT_FDCWD, "m", OPEN_TREE_CLONE, &a, sizeof a));
}
