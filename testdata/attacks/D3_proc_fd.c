// SPDX-License-Identifier: Apache-2.0
// A descriptor of a process outside the tree, reopened through its folder in /proc.
#include "attack.h"

int main(void)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/fd/1", number("ATTACK_RUNNER", 1));
	char target[256];
	verdict(readlink(path, target, sizeof target));
}
