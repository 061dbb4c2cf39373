// SPDX-License-Identifier: Apache-2.0
//
// C12: an O_PATH descriptor of the secret is opened by its magic link.
#include "cfgh.h"

int main(void)
{
	char name[64];
	int fd = open("secret", O_PATH);
	must(fd, "open O_PATH");
	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	verdict_secret(open(name, O_RDONLY));
}
