// SPDX-License-Identifier: Apache-2.0
//
// G6: PR_SET_PTRACER names an outside process that may trace us; then we would not be traced by
// ptguard alone.
#include "cfgh.h"

int main(void)
{
	// The kernel knows it with Yama only; the tracer that there is stays.
	if (prctl(PR_SET_PTRACER, -1ul, 0, 0, 0) < 0 && !tracer())
		setup("PR_SET_PTRACER (no Yama)");
	pid_t pid = tracer();
	verdict(pid ? (errno = EPERM, -1) : 0);
}
