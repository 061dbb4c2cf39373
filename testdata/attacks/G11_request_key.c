// SPDX-License-Identifier: Apache-2.0
//
// G11: request_key may start a helper outside.
#include "cfgh.h"

int main(void)
{
	long r = syscall(SYS_request_key, "user", "ptguard-attack-none", NULL, -2);
	verdict(r < 0 && errno == ENOKEY ? 0 : r); // it looked for it
}
