// SPDX-License-Identifier: Apache-2.0
//
// G16: swapoff of what is no swap. Needs CAP_SYS_ADMIN.
#include "cfgh.h"
#include <sys/swap.h>

int main(void)
{
	long r = swapoff("secreT");
	verdict(r < 0 && errno == EINVAL ? 0 : r);
}
