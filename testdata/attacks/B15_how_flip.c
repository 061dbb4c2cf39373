// SPDX-License-Identifier: Apache-2.0
// A thread flips the flags in struct open_how between reading and writing.
#include "attack.h"
#include <linux/openat2.h>

int main(void)
{
	static struct open_how how = {.flags = O_RDONLY};
	flip((char *)&how.flags, O_RDONLY, O_WRONLY);
	while (race_more()) {
		int fd = (int)syscall(SYS_openat2, AT_FDCWD, "../outside/file", &how, sizeof how);
		race_won(fd >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY);
		close(fd);
	}
	race_end();
}
