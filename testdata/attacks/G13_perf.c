// SPDX-License-Identifier: Apache-2.0
//
// G13: perf_event_open.
#include "cfgh.h"
#include <linux/perf_event.h>

int main(void)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1, .exclude_hv = 1};
	verdict(syscall(SYS_perf_event_open, &a, 0, -1, -1, 0));
}
