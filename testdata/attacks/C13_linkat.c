// SPDX-License-Identifier: Apache-2.0
//
// C13: linkat with an empty name, of an O_PATH descriptor of a file outside.
#include "cfgh.h"

int main(void)
{
	int fd = open(outside("file"), O_PATH);
	must(fd, "open O_PATH");
	verdict(linkat(fd, "", AT_FDCWD, "l", AT_EMPTY_PATH));
}
