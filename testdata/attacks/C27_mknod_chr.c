// SPDX-License-Identifier: Apache-2.0
//
// C27: a character device. Needs CAP_MKNOD.
#include "cfgh.h"
#include <sys/sysmacros.h>

int main(void) { verdict(mknodat(AT_FDCWD, "c", S_IFCHR | 0600, makedev(1, 11))); }
