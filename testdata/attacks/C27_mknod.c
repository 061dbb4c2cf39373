// SPDX-License-Identifier: Apache-2.0
//
// C27: a block device of our own gives every file by its blocks. Needs CAP_MKNOD.
#include "cfgh.h"
#include <sys/sysmacros.h>

int main(void) { verdict(mknod("b", S_IFBLK | 0600, makedev(1, 0))); }
