// SPDX-License-Identifier: Apache-2.0
// A name of 4095 bytes, the longest there is.
#include "attack.h"

int main(void)
{
	static char name[4096];
	memset(name, '/', sizeof name - 1);
	name[0] = '.';
	memcpy(name + 4095 - 6, "secret", 6);
	verdict_secret(open(name, O_RDONLY));
}
