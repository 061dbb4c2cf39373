// SPDX-License-Identifier: Apache-2.0
//
// C15: a chain of 39 links.
#include "cfgh.h"

int main(void)
{
	char a[16], b[16] = "secret";
	for (int i = 0; i < 39; i++) {
		snprintf(a, sizeof a, "l%d", i);
		must(symlink(b, a), "symlink");
		strcpy(b, a);
	}
	verdict_secret(open(b, O_RDONLY));
}
