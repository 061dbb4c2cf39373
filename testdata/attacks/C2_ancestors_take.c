// SPDX-License-Identifier: Apache-2.0
//
// C2: ancestors are exchanged while names are taken away, and modes changed, through `..` of
// a descriptor.
#include "ancestors.h"

int main(void)
{
	char name[64], there[64];
	struct stat st;
	ancestors();
	int v = 0;
	for (unsigned n = 0; race_more() && v < 20; n++) {
		snprintf(there, sizeof there, "denied/v%d", v);
		snprintf(name, sizeof name, "far/off/denied/v%d", v);
		close(open(name, O_CREAT | O_WRONLY, 0644));
		snprintf(name, sizeof name, "../../../denied/v%d", v);
		int won = 0;
		switch (n % 3) {
		case 0:
			unlinkat(in, name, 0);
			break;
		case 1:
			renameat(in, name, AT_FDCWD, "taken");
			break;
		case 2:
			fchmodat(in, name, 0700, 0);
			won = !stat(there, &st) && (st.st_mode & 0777) == 0700;
		}
		if (lstat(there, &st) < 0 || won) {
			race_won(1);
			v++;
		}
	}
	race_end();
}
