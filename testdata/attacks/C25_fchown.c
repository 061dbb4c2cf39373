// SPDX-License-Identifier: Apache-2.0
//
// C25: fchown through a descriptor opened for reading.
#include "cfgh.h"

int main(void)
{
	int fd = open(outside("file"), O_RDONLY);
	must(fd, "open");
	verdict(fchown(fd, (uid_t)-1, getgid()));
}
