// SPDX-License-Identifier: Apache-2.0
//
// C8, G18: setns; our own namespace would do, the call is refused whatever the descriptor is.
#include "cfgh.h"

int main(void)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY);
	must(fd, "open ns");
	verdict(setns(fd, CLONE_NEWUTS));
}
