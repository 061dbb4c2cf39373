// SPDX-License-Identifier: Apache-2.0
//
// F4: 127.9.9.9 (a listener on 127.0.0.1 does not hear it: UDP tells by the send).
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in a = loopback("ATTACK_BAD");
	a.sin_addr.s_addr = htonl(0x7f090909);
	int s = socket(AF_INET, SOCK_DGRAM, 0);
	must(s, "socket");
	verdict(connect(s, (struct sockaddr *)&a, sizeof a));
}
