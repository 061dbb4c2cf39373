// SPDX-License-Identifier: Apache-2.0
// A descriptor of a denied folder that a careless parent left open.
#include "attack.h"

int main(void)
{
	verdict_secret(openat(8, "file", O_RDONLY));
}
