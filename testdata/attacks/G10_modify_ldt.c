// SPDX-License-Identifier: Apache-2.0
//
// G10: modify_ldt.
#include "cfgh.h"

#ifdef SYS_modify_ldt
int main(void)
{
	struct {
		unsigned entry, base, limit, flags;
	} d = {0, 0, 0xfffff, 0x51};
	verdict(syscall(SYS_modify_ldt, 1, &d, sizeof d));
}
#else
int main(void) { finish("SETUP", "%s", "amd64 only"); }
#endif
