// SPDX-License-Identifier: Apache-2.0
//
// G16: sethostname, to the name that it has. Needs CAP_SYS_ADMIN.
#include "cfgh.h"

int main(void)
{
	char n[128] = "";
	must(gethostname(n, sizeof n - 1), "gethostname");
	verdict(sethostname(n, strlen(n)));
}
