// SPDX-License-Identifier: Apache-2.0
//
// C17: the same through /proc/self/fd of an O_PATH descriptor.
#include "cfgh.h"

int main(void)
{
	char n[64];
	int fd = open("secret", O_PATH);
	must(fd, "open O_PATH");
	snprintf(n, sizeof n, "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, n, AT_FDCWD, "l", AT_SYMLINK_FOLLOW) < 0)
		refused();
	verdict_secret(open("l", O_RDONLY));
}
