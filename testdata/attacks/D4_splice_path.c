// SPDX-License-Identifier: Apache-2.0
// The denied file is opened with O_PATH, which is a look, and read through /proc/self/fd.
#include "attack.h"

int main(void)
{
	char path[64];
	int fd = open("secret", O_PATH);
	must(fd, "O_PATH");
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	verdict_secret(open(path, O_RDONLY));
}
