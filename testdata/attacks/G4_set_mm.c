// SPDX-License-Identifier: Apache-2.0
//
// G4: PR_SET_MM changes what /proc tells of a process. Needs CAP_SYS_RESOURCE.
#include "cfgh.h"

int main(void)
{
	unsigned size;
	verdict(prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &size, 0, 0));
}
