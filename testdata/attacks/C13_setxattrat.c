// SPDX-License-Identifier: Apache-2.0
//
// C13, C24: setxattrat (Linux 6.13).
#include "cfgh.h"

int main(void)
{
	struct {
		uint64_t value;
		uint32_t size, flags;
	} v = {(uintptr_t)"x", 1, 0};
	verdict(syscall(463, AT_FDCWD, outside("file"), 0, "user.t", &v, sizeof v));
}
