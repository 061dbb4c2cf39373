// SPDX-License-Identifier: Apache-2.0
// A thread flips the port that connect(2) is given.
#include "attack.h"

// ports flips both bytes of a port at once.
static void *ports(void *arg)
{
	volatile in_port_t *at = &((struct sockaddr_in *)arg)->sin_port;
	in_port_t ok = loopback("ATTACK_OK").sin_port, bad = loopback("ATTACK_BAD").sin_port;
	unsigned seed = 1;
	for (;;) {
		*at = bad;
		for (volatile unsigned i = ((seed = seed * 1103515245 + 12345) >> 16) & 0x3ff; i; i--)
			;
		*at = ok;
		for (volatile unsigned i = ((seed = seed * 1103515245 + 12345) >> 16) & 0x3ff; i; i--)
			;
	}
	return NULL;
}

int main(void)
{
	static struct sockaddr_in a;
	struct sockaddr_in ok = loopback("ATTACK_OK"), bad = loopback("ATTACK_BAD");
	a = ok;
	start(ports, &a);
	while (race_more()) {
		struct sockaddr_in peer;
		socklen_t n = sizeof peer;
		int s = socket(AF_INET, SOCK_STREAM, 0);
		struct linger hard = {1, 0};
		setsockopt(s, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
		if (!connect(s, (struct sockaddr *)&a, sizeof a) && !getpeername(s, (struct sockaddr *)&peer, &n))
			race_won(peer.sin_port == bad.sin_port);
		close(s);
	}
	race_end();
}
