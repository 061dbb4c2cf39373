// SPDX-License-Identifier: Apache-2.0
//
// C18: RENAME_EXCHANGE with the denied folder, both ways round.
#include "cfgh.h"

int main(void)
{
	if (renameat2(AT_FDCWD, "denied", AT_FDCWD, "denieD", RENAME_EXCHANGE) < 0 &&
	    renameat2(AT_FDCWD, "denieD", AT_FDCWD, "denied", RENAME_EXCHANGE) < 0)
		refused();
	verdict_secret(open("denieD/file", O_RDONLY));
}
