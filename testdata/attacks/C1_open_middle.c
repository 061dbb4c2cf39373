// SPDX-License-Identifier: Apache-2.0
//
// C1: a directory in the middle is exchanged for a link to the folder of the secret.
#include "cfgh.h"

int main(void)
{
	must(mkdir("x", 0755), "mkdir");
	put("x/secret", "ALLOWED", 0644);
	must(symlink(".", "y"), "symlink");
	start_swap("x", "y");
	while (race_more())
		race_won(is_secret(open("x/secret", O_RDONLY)));
	race_end();
}
