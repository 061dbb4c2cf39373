// SPDX-License-Identifier: Apache-2.0
//
// C24: getxattr reads of a name that flips to the secret. Only the twin has the attribute:
// ENODATA comes from the secret.
#include "cfgh.h"

int main(void)
{
	static char name[] = "secreT";
	char v[8];
	must(setxattr("secreT", "user.t", "1", 1, 0), "setxattr");
	flip(&name[5], 'T', 't');
	while (race_more())
		race_won(getxattr(name, "user.t", v, sizeof v) < 0 && errno == ENODATA);
	race_end();
}
