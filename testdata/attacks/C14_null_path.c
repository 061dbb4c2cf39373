// SPDX-License-Identifier: Apache-2.0
//
// C14: a NULL name stands for the descriptor (utimensat).
#include "cfgh.h"

int main(void)
{
	int fd = open(outside("file"), O_RDONLY);
	must(fd, "open");
	verdict(syscall(SYS_utimensat, fd, NULL, NULL, 0));
}
