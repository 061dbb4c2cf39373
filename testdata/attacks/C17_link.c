// SPDX-License-Identifier: Apache-2.0
//
// C17: a hard link gives the secret an allowed name.
#include "cfgh.h"

int main(void)
{
	if (link("secret", "l") < 0)
		refused();
	verdict_secret(open("l", O_RDONLY));
}
