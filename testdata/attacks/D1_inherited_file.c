// SPDX-License-Identifier: Apache-2.0
// A descriptor of the denied file that a careless parent left open.
#include "attack.h"

int main(void)
{
	char text[6] = "";
	if (pread(7, text, 6, 0) < 0)
		refused();
	verdict_secret(dup(7));
}
