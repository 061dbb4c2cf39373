// SPDX-License-Identifier: Apache-2.0
//
// C25: setflags through a descriptor opened for reading.
#include "cfgh.h"

int main(void)
{
	int fd = open(outside("file"), O_RDONLY), flags;
	must(fd, "open");
	must(ioctl(fd, FS_IOC_GETFLAGS, &flags), "FS_IOC_GETFLAGS");
	flags |= FS_NODUMP_FL;
	verdict(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}
