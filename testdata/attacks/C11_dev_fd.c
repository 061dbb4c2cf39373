// SPDX-License-Identifier: Apache-2.0
//
// C11: /dev/fd/N of a folder.
#include "cfgh.h"

int main(void)
{
	must(dup2(open("denied", O_PATH | O_DIRECTORY), 9), "dup2");
	verdict_secret(open("/dev/fd/9/file", O_RDONLY));
}
