// SPDX-License-Identifier: Apache-2.0
// setxattrat(2) is newer than most tables.
#include "attack.h"

int main(void)
{
	struct { uint64_t value; uint32_t size, flags; } args = {(uintptr_t)"v", 1, 0};
	verdict(syscall(463, AT_FDCWD, "denied/file", 0, "user.x", &args, sizeof args));
}
