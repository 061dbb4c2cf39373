// SPDX-License-Identifier: Apache-2.0
//
// G16: setdomainname, to the name that it has. Needs CAP_SYS_ADMIN.
#include "cfgh.h"

int main(void)
{
	char n[128] = "";
	must(getdomainname(n, sizeof n - 1), "getdomainname");
	verdict(setdomainname(n, strlen(n)));
}
