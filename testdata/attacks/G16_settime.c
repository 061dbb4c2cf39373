// SPDX-License-Identifier: Apache-2.0
//
// G16: clock_settime; an invalid time tells whether it was tried. Needs CAP_SYS_TIME.
#include "cfgh.h"

int main(void)
{
	struct timespec ts = {-1, 0};
	long r = clock_settime(CLOCK_REALTIME, &ts);
	verdict(r < 0 && errno == EINVAL ? 0 : r);
}
