// SPDX-License-Identifier: Apache-2.0
//
// C12: the same to truncate.
#include "cfgh.h"

int main(void)
{
	char name[64];
	int fd = open(outside("file"), O_RDONLY);
	must(fd, "open");
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	verdict(open(name, O_RDONLY | O_TRUNC));
}
