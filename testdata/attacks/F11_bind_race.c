// SPDX-License-Identifier: Apache-2.0
//
// F11: the address of a bind flips between 127.0.0.1 and every interface.
#include "cfgh.h"

int main(void)
{
	static struct sockaddr_in a = {.sin_family = AF_INET};
	struct sockaddr_in is;
	volatile char *p = (char *)&a.sin_addr;
	p[3] = 0; // 127.0.0.0 is loopback, too
	flip(&p[0], 127, 0);
	while (race_more()) {
		socklen_t n = sizeof is;
		int s = socket(AF_INET, SOCK_DGRAM, 0);
		must(s, "socket");
		race_won(!bind(s, (struct sockaddr *)&a, sizeof a) && !getsockname(s, (struct sockaddr *)&is, &n) && is.sin_addr.s_addr == 0);
		close(s);
	}
	race_end();
}
