// SPDX-License-Identifier: Apache-2.0
//
// C24: acct has the kernel append to a file of our choice. Needs CAP_SYS_PACCT.
#include "cfgh.h"

int main(void)
{
	long r = acct("secreT");
	if (!r)
		acct(NULL);
	verdict(r);
}
