// SPDX-License-Identifier: Apache-2.0
//
// C25: fsetxattr through a descriptor opened for reading.
#include "cfgh.h"

int main(void)
{
	int fd = open(outside("file"), O_RDONLY);
	must(fd, "open");
	verdict(fsetxattr(fd, "user.t", "1", 1, 0));
}
