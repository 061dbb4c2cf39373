// SPDX-License-Identifier: Apache-2.0
//
// G17: after setuid inside the tree the secret stays denied, and files outside too. Needs
// CAP_SETUID.
#include "cfgh.h"

int main(void)
{
	if (!tracer())
		must(chmod("secret", 0644), "chmod");
	must(setgid(65534), "setgid");
	must(setuid(65534), "setuid");
	verdict_secret(open("secret", O_RDONLY));
}
