// SPDX-License-Identifier: Apache-2.0
//
// F4: 0.0.0.0.
#include "cfgh.h"

int main(void)
{
	struct sockaddr_in a = loopback("ATTACK_BAD");
	a.sin_addr.s_addr = 0;
	int s = socket(AF_INET, SOCK_STREAM, 0);
	must(s, "socket");
	verdict(connect(s, (struct sockaddr *)&a, sizeof a));
}
