// SPDX-License-Identifier: Apache-2.0
//
// F2: a thread flips the port that a datagram is sent to; the echo of the refused port tells of
// a win. SEND(socket, a struct mmsghdr) is the call.
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
	struct sockaddr_in bad = loopback("ATTACK_BAD"), from;
	a = loopback("ATTACK_OK");
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	must(s, "socket");
	start(ports, &a);
	char byte = 'x';
	struct iovec v = {&byte, 1};
	struct mmsghdr m[1] = {{.msg_hdr = {.msg_name = &a, .msg_namelen = sizeof a, .msg_iov = &v, .msg_iovlen = 1}}};
	while (race_more()) {
		if (SEND(s, m) < 0)
			continue;
		// Loopback: the echo comes soon; what is late is seen next time.
		struct pollfd p = {s, POLLIN, 0};
		socklen_t n = sizeof from;
		if (poll(&p, 1, 50) > 0 && recvfrom(s, &byte, 1, MSG_DONTWAIT, (struct sockaddr *)&from, &n) == 1)
			race_won(from.sin_port == bad.sin_port);
	}
	race_end();
}
