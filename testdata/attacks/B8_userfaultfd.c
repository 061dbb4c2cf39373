// SPDX-License-Identifier: Apache-2.0
// userfaultfd(2): each fetch of the name could be given other content.
#include "attack.h"
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

int main(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (fd < 0)
		refused();
	struct uffdio_api api = {.api = UFFD_API};
	verdict(ioctl(fd, UFFDIO_API, &api));
}
