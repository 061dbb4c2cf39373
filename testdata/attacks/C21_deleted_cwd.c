// SPDX-License-Identifier: Apache-2.0
//
// C21: relative names from a current directory that has no name any more.
#include "cfgh.h"

int main(void)
{
	must(mkdir("d", 0755), "mkdir");
	must(chdir("d"), "chdir");
	must(rmdir("../d"), "rmdir");
	// `..` of a removed folder is still its old parent.
	verdict_secret(open("../secret", O_RDONLY));
}
