// SPDX-License-Identifier: Apache-2.0
// What descriptors there are beyond the standard ones.
#include "attack.h"

int main(void)
{
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			succeeded();
	refused();
}
