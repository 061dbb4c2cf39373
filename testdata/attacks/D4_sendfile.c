// SPDX-License-Identifier: Apache-2.0
// sendfile(2) from the denied file into one of ours.
#include "attack.h"
#include <sys/sendfile.h>

int main(void)
{
	int to = open("copy", O_RDWR | O_CREAT, 0600), from = open("secret", O_RDONLY);
	if (from < 0)
		refused();
	must(sendfile(to, from, NULL, 7), "copy");
	verdict_secret(to);
}
