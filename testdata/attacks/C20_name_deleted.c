// SPDX-License-Identifier: Apache-2.0
//
// C20: the kernel's name of a deleted file ends in " (deleted)"; a file that is really
// called so is reached through a descriptor of another.
#include "cfgh.h"

int main(void)
{
	char n[64];
	must(rename("secreT", "f"), "rename");
	int fd = open("secret", O_PATH);
	must(fd, "open O_PATH");
	put("secret (deleted)", "ALLOWED", 0644);
	snprintf(n, sizeof n, "/proc/self/fd/%d", fd);
	verdict_secret(open(n, O_RDONLY));
}
