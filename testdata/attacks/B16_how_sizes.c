// SPDX-License-Identifier: Apache-2.0
// openat2(2) with larger structs than its own: a tail of zeros is legal.
#include "attack.h"

int main(void)
{
	static char how[8192];
	for (size_t size = 24; size <= 4096; size += 8) {
		int fd = (int)syscall(SYS_openat2, AT_FDCWD, "secret", how, size);
		if (is_secret(fd))
			succeeded();
	}
	refused();
}
