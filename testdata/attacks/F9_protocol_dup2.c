// SPDX-License-Identifier: Apache-2.0
//
// F9, C4: connect(2) and sendto(2) on a number that flips between a TCP socket, which may reach
// the address, and a UDP socket, which may not.
#include "cfgh.h"

static int tcp, udp, fd = 100;

static void *duping(void *arg)
{
	for (;;) {
		dup2(tcp, fd);
		dup2(udp, fd);
	}
	return arg;
}

int main(void)
{
	struct sockaddr_in a = loopback("ATTACK_BAD"), peer;
	char byte = 0;
	must(tcp = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "socket");
	must(udp = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), "socket");
	start(duping, NULL);
	for (unsigned i = 0; race_more(); i++) {
		socklen_t n = sizeof peer;
		if (i % 2) {
			connect(fd, (struct sockaddr *)&a, sizeof a);
			race_won(!getpeername(udp, (struct sockaddr *)&peer, &n));
			connect(udp, (struct sockaddr *)&(struct sockaddr_in){.sin_family = AF_UNSPEC}, sizeof a);
		} else {
			sendto(fd, &byte, 1, MSG_NOSIGNAL, (struct sockaddr *)&a, sizeof a);
			usleep(50);
			race_won(recv(udp, &byte, 1, 0) == 1); // the echo
		}
	}
	race_end();
}
