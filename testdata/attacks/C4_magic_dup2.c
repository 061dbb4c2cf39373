// SPDX-License-Identifier: Apache-2.0
//
// C4, C11, C12: /proc/self/fd/N is opened while N flips between a readable file and an
// O_PATH descriptor of the secret.
#include "cfgh.h"

static int ok, bad, fd = 100;

static void *duping(void *arg)
{
	for (;;) {
		dup2(ok, fd);
		dup2(bad, fd);
	}
	return arg;
}

int main(void)
{
	must(ok = open("secreT", O_RDONLY), "open");
	must(bad = open("secret", O_PATH), "open O_PATH");
	start(duping, NULL);
	for (int i = 0; race_more(); i++)
		race_won(is_secret(open(i % 2 ? "/proc/self/fd/100" : "/dev/fd/100", O_RDONLY)));
	race_end();
}
