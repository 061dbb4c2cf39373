// SPDX-License-Identifier: Apache-2.0
//
// C2: ancestors are exchanged while names are made through `..` of a descriptor.
#include "ancestors.h"

int main(void)
{
	char name[64];
	struct stat st;
	ancestors();
	for (unsigned n = 0; race_more(); n++) {
		snprintf(name, sizeof name, "../../../../outside/n%u", n);
		switch (n % 6) {
		case 0:
			mkdirat(in, name, 0755);
			break;
		case 1:
			close(openat(in, name, O_CREAT | O_WRONLY, 0644));
			break;
		case 2:
			linkat(AT_FDCWD, "secreT", in, name, 0);
			break;
		case 3:
			symlinkat("t", in, name);
			break;
		case 4:
			mknodat(in, name, S_IFIFO | 0644, 0);
			break;
		case 5:
			close(open("moved", O_CREAT | O_WRONLY, 0644));
			renameat(AT_FDCWD, "moved", in, name);
		}
		race_won(!lstat(outside(strrchr(name, '/') + 1), &st));
	}
	race_end();
}
