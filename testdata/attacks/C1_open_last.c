// SPDX-License-Identifier: Apache-2.0
//
// C1: the last component is a link that another thread exchanges for one to the secret.
#include "cfgh.h"

int main(void)
{
	must(symlink("secreT", "x"), "symlink");
	must(symlink("secret", "y"), "symlink");
	start_swap("x", "y");
	while (race_more())
		race_won(is_secret(open("x", O_RDONLY)));
	race_end();
}
