// SPDX-License-Identifier: Apache-2.0
//
// C6: another thread changes the current directory while relative names are opened.
#include "cfgh.h"

static void *changing(void *arg)
{
	int *d = arg;
	for (;;) {
		(void)!fchdir(d[0]);
		(void)!fchdir(d[1]);
	}
	return NULL;
}

int main(void)
{
	int d[2] = {open("denieD", O_PATH | O_DIRECTORY), open("denied", O_PATH | O_DIRECTORY)};
	must(d[0], "open");
	must(d[1], "open");
	start(changing, d);
	while (race_more())
		race_won(is_secret(open("file", O_RDONLY)));
	race_end();
}
