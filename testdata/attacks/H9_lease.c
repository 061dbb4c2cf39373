// SPDX-License-Identifier: Apache-2.0
//
// H9: a file is under a lease of the program's own (fcntl F_SETLEASE); who truncates it by name
// waits until the lease is given up. Others must get an answer meanwhile.
#include "cfgh.h"

static void *truncating(void *arg)
{
	(void)!truncate("leased", 1);
	return arg;
}

int main(void)
{
	put("leased", "text", 0644);
	int fd = open("leased", O_RDONLY);
	must(fd, "open");
	signal(SIGIO, SIG_IGN);
	must(fcntl(fd, F_SETLEASE, F_RDLCK), "F_SETLEASE");
	alarm(60);
	double from = seconds();
	start(truncating, NULL);
	while (fcntl(fd, F_GETLEASE) == F_RDLCK) // until somebody waits for it
		usleep(1000);
	int other = open("secreT", O_RDONLY);
	if (other < 0 || seconds() - from > 20)
		finish("SUCCEEDED", "an open took %.1f s", seconds() - from);
	mkdir("d", 0755);
	if (seconds() - from > 20)
		finish("SUCCEEDED", "a mkdir took %.1f s", seconds() - from);
	verdict_secret(open("secret", O_RDONLY));
}
