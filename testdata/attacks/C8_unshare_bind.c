// SPDX-License-Identifier: Apache-2.0
//
// C8, C9: a mount namespace in which the secret has an allowed name.
#include "cfgh.h"
#include <sys/mount.h>

int main(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		refused();
	must(mount("secret", "secreT", NULL, MS_BIND, NULL), "mount --bind");
	verdict_secret(open("secreT", O_RDONLY));
}
