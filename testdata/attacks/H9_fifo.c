// SPDX-License-Identifier: Apache-2.0
//
// H9: 40 threads wait in the open of a FIFO; others of the process still get an answer.
#include "cfgh.h"

static void *waiting(void *arg)
{
	close(open("fifo", O_RDONLY));
	return arg;
}

int main(void)
{
	must(mkfifo("fifo", 0600), "mkfifo");
	for (int i = 0; i < 40; i++)
		start(waiting, NULL);
	usleep(200000); // no condition tells that they wait; fewer would only make it easier
	alarm(20);
	double from = seconds();
	int fd = open("secreT", O_RDONLY);
	if (fd < 0 || seconds() - from > 5)
		finish("SUCCEEDED", "an open took %.1f s", seconds() - from);
	verdict_secret(open("secret", O_RDONLY));
}
