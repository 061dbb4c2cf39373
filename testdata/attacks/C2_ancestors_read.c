// SPDX-License-Identifier: Apache-2.0
//
// C2: ancestors are exchanged while a file is opened through `..`, from a descriptor and from
// the current directory, in turn.
#include "ancestors.h"

int main(void)
{
	ancestors();
	must(fchdir(in), "fchdir");
	for (unsigned n = 0; race_more(); n++)
		race_won(is_secret(openat(n & 1 ? in : AT_FDCWD, "../../../secret", O_RDONLY)));
	race_end();
}
