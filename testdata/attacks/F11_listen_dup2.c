// SPDX-License-Identifier: Apache-2.0
//
// F11, C4: listen(2) on a number that flips between a bound socket and one without an address,
// which the kernel binds to every interface.
#include "cfgh.h"

static int bound, loose, fd = 100;

static void *duping(void *arg)
{
	for (;;) {
		dup2(bound, fd);
		dup2(loose, fd);
	}
	return arg;
}

int main(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	must(bound = socket(AF_INET, SOCK_STREAM, 0), "socket");
	must(bind(bound, (struct sockaddr *)&a, sizeof a), "bind");
	must(loose = socket(AF_INET, SOCK_STREAM, 0), "socket");
	start(duping, NULL);
	while (race_more()) {
		socklen_t n = sizeof a;
		listen(fd, 1);
		memset(&a, 0, sizeof a);
		if (!getsockname(loose, (struct sockaddr *)&a, &n) && a.sin_port) {
			race_won(a.sin_addr.s_addr == 0);
			shutdown(loose, SHUT_RDWR); // its port goes
			int fresh = socket(AF_INET, SOCK_STREAM, 0);
			must(dup2(fresh, loose), "dup2");
			close(fresh);
		}
	}
	race_end();
}
