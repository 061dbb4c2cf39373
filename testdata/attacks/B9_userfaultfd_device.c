// SPDX-License-Identifier: Apache-2.0
// /dev/userfaultfd gives a descriptor that can hold up whoever reads the memory.
#include "attack.h"
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

int main(void)
{
	int fd = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		refused();
	verdict(ioctl(fd, USERFAULTFD_IOC_NEW, O_CLOEXEC));
}
