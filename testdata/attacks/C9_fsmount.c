// SPDX-License-Identifier: Apache-2.0
//
// C9: fsconfig, fsmount and move_mount: a file system of our own over a folder.
#include "cfgh.h"
#include <sys/mount.h>

int main(void)
{
	if (!tracer()) { // in a mount namespace of our own; under ptguard there is none
		must(unshare(CLONE_NEWNS), "unshare");
		must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private");
	}
	int fs = fsopen("tmpfs", 0);
	fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	int m = fsmount(fs, 0, 0);
	verdict(move_mount(m, "", AT_FDCWD, "denieD", MOVE_MOUNT_F_EMPTY_PATH));
}
