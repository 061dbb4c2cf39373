// SPDX-License-Identifier: Apache-2.0
//
// F2: a datagram to a denied port.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in a = loopback("ATTACK_BAD");
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	must(s, "socket");
	verdict(sendto(s, "x", 1, 0, (struct sockaddr *)&a, sizeof a));
}
