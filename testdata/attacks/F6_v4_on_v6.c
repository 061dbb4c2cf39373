// SPDX-License-Identifier: Apache-2.0
//
// F6: an AF_INET address on an AF_INET6 socket (a datagram socket takes it).
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in a = loopback("ATTACK_BAD");
	int s = socket(AF_INET6, SOCK_DGRAM, 0);
	must(s, "socket");
	verdict(connect(s, (struct sockaddr *)&a, sizeof a));
}
