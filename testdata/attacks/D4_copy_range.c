// SPDX-License-Identifier: Apache-2.0
// copy_file_range(2) from the denied file into one of ours.
#include "attack.h"

int main(void)
{
	int to = open("copy", O_RDWR | O_CREAT, 0600), from = open("secret", O_RDONLY);
	if (from < 0)
		refused();
	must(copy_file_range(from, NULL, to, NULL, 7, 0), "copy");
	verdict_secret(to);
}
