// SPDX-License-Identifier: Apache-2.0
//
// C7: with another root, every name means something else. Needs CAP_SYS_CHROOT.
#include "cfgh.h"

int main(void)
{
	if (chroot("denied") < 0)
		refused();
	verdict_secret(open("/file", O_RDONLY));
}
