// SPDX-License-Identifier: Apache-2.0
//
// G16: adjtimex with the values that it has. Needs CAP_SYS_TIME.
#include "cfgh.h"
#include <sys/timex.h>

int main(void)
{
	struct timex t = {0};
	must(adjtimex(&t), "adjtimex");
	t.modes = ADJ_ESTERROR;
	verdict(adjtimex(&t));
}
