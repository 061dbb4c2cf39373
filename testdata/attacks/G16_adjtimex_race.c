// SPDX-License-Identifier: Apache-2.0
//
// G16: the mode word of adjtimex flips between asking and setting. Needs CAP_SYS_TIME.
#include "cfgh.h"
#include <sys/timex.h>

int main(void)
{
	static struct timex t;
	struct timex now = {0};
	must(adjtimex(&now), "adjtimex");
	long first = now.esterror;
	flip((volatile char *)&t.modes, 0, ADJ_ESTERROR);
	for (long n = 1; race_more(); n++) {
		t.esterror = 1000 + n % 1000;
		long want = t.esterror;
		adjtimex(&t);
		now.modes = 0;
		adjtimex(&now);
		race_won(now.esterror == want && want != first);
		first = now.esterror;
	}
	race_end();
}
